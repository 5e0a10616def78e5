"""What runs inside a lab: standard library only, started without site-packages.

These modules are imported as `inside.…` from the lab's own processes and as
`allemande.lab.inside.…` by everything else, so they import one another relatively.
"""
