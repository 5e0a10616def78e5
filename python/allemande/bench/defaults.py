"""What `allemande bench` measures when it is not told. The command line imports it: kept light."""

LAB = "tam-8x4"
SCALE = 0.1
SIZES = "100,1000,10000,50000,200000"
# Under the stock libraries. Linux's default; machines tuned for the internet often have bbr, under
# which shallow queues cost the stock libraries several times as much.
CONGESTION_CONTROL = "cubic"
