"""Store-and-forward drop-tail networks in ns-3, as an oracle for our simulator.

Runs in an environment of its own (`make oracles`), never in ours: ns-3 is GPL. Reads a network and
the frames that hosts send from standard input as JSON, writes when each frame arrived and what
each port dropped to standard output. Times are in picoseconds.

A link is two point-to-point devices with a drop-tail queue each. PPP frames have 2 bytes of header,
so the UDP payload is chosen to make the frame as long as asked.
"""

import json
import sys

from ns import ns  # type: ignore[import-not-found]

ns.cppyy.cppdef(
    """
    #include <vector>
    using namespace ns3;

    struct OracleLink { uint32_t a, b; uint64_t up_bit_s, down_bit_s; int64_t latency_ps;
                        uint32_t queue_up, queue_down; };
    struct OracleFrame { int64_t time_ps; uint32_t from, to, bytes; };

    std::vector<OracleLink> oracle_links;
    std::vector<OracleFrame> oracle_frames;
    std::vector<int64_t> oracle_arrivals;      // by frame; -1: never
    std::vector<uint32_t> oracle_drops;        // by port: 2 link (up), 2 link + 1 (down)

    void OracleAddLink(uint32_t a, uint32_t b, uint64_t up, uint64_t down, int64_t latency,
                       uint32_t queue_up, uint32_t queue_down) {
      oracle_links.push_back({a, b, up, down, latency, queue_up, queue_down});
    }
    void OracleAddFrame(int64_t time, uint32_t from, uint32_t to, uint32_t bytes) {
      oracle_frames.push_back({time, from, to, bytes});
    }
    void OracleDropped(uint32_t port, Ptr<const Packet>) { ++oracle_drops[port]; }
    void OracleReceived(Ptr<Socket> socket) {
      while (Ptr<Packet> packet = socket->Recv()) {
        uint32_t index = 0;
        packet->CopyData(reinterpret_cast<uint8_t*>(&index), sizeof(index));
        oracle_arrivals[index] = Simulator::Now().GetPicoSeconds();
      }
    }
    void OracleSend(Ptr<Socket> socket, InetSocketAddress to, uint32_t index, uint32_t bytes) {
      constexpr uint32_t kHeaders = 2 + 20 + 8;  // PPP, IPv4, UDP
      std::vector<uint8_t> payload(bytes - kHeaders, 0);
      std::memcpy(payload.data(), &index, sizeof(index));
      socket->SendTo(Create<Packet>(payload.data(), payload.size()), 0, to);
    }
    Ptr<NetDevice> OracleDevice(Ptr<NetDevice> device, uint64_t bit_s, uint32_t queue,
                                uint32_t port) {
      auto link = DynamicCast<PointToPointNetDevice>(device);
      link->SetDataRate(DataRate(bit_s));
      link->SetMtu(60000);
      auto fifo = CreateObject<DropTailQueue<Packet>>();
      fifo->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, queue));
      fifo->TraceConnectWithoutContext("Drop", MakeBoundCallback(&OracleDropped, port));
      link->SetQueue(fifo);
      return device;
    }

    void OracleRun(uint32_t hosts, uint32_t nodes) {
      NodeContainer all;
      all.Create(nodes);
      InternetStackHelper stack;
      stack.Install(all);
      Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
      std::vector<Ipv4Address> address(nodes);
      oracle_drops.assign(2 * oracle_links.size(), 0);
      oracle_arrivals.assign(oracle_frames.size(), -1);
      TrafficControlHelper control;
      for (uint32_t i = 0; i < oracle_links.size(); ++i) {
        const OracleLink& link = oracle_links[i];
        PointToPointHelper helper;
        helper.SetChannelAttribute("Delay", TimeValue(PicoSeconds(link.latency_ps)));
        NetDeviceContainer devices = helper.Install(all.Get(link.a), all.Get(link.b));
        OracleDevice(devices.Get(0), link.up_bit_s, link.queue_up, 2 * i);
        OracleDevice(devices.Get(1), link.down_bit_s, link.queue_down, 2 * i + 1);
        Ipv4InterfaceContainer made = addresses.Assign(devices);
        control.Uninstall(devices);  // one queue per port, and no other
        if (link.a < hosts) address[link.a] = made.GetAddress(0);
        if (link.b < hosts) address[link.b] = made.GetAddress(1);
        addresses.NewNetwork();
      }
      Ipv4GlobalRoutingHelper::PopulateRoutingTables();
      constexpr uint16_t kPort = 4791;
      std::vector<Ptr<Socket>> sockets;
      for (uint32_t host = 0; host < hosts; ++host) {
        auto socket = Socket::CreateSocket(all.Get(host), UdpSocketFactory::GetTypeId());
        socket->SetAttribute("RcvBufSize", UintegerValue(1u << 30));
        socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
        socket->SetRecvCallback(MakeCallback(&OracleReceived));
        sockets.push_back(socket);
      }
      for (uint32_t i = 0; i < oracle_frames.size(); ++i) {
        const OracleFrame& frame = oracle_frames[i];
        Simulator::Schedule(PicoSeconds(frame.time_ps), &OracleSend, sockets[frame.from],
                            InetSocketAddress(address[frame.to], kPort), i, frame.bytes);
      }
      Simulator::Run();
      Simulator::Destroy();
    }
    """
)


def main() -> None:
    network = json.load(sys.stdin)
    ns.Time.SetResolution(ns.Time.PS)
    code = ns.cppyy.gbl
    for link in network["links"]:
        code.OracleAddLink(*link)
    for frame in network["frames"]:
        code.OracleAddFrame(*frame)
    code.OracleRun(network["hosts"], network["nodes"])
    json.dump(
        {"arrivals": list(code.oracle_arrivals), "drops": list(code.oracle_drops)}, sys.stdout
    )


main()
