// A speed workload for ns-3: TCP flows over one path of routers, or over a dumbbell, without traces.
//
// speed key=value ...
//   flows=N pairs=N rate=MBPS queue=PACKETS access_queue=PACKETS seconds=S
//   rtt_min=MS rtt_max=MS        base round-trip times, spread evenly over the pairs of hosts
//   spread=S                     the flows start evenly over this time
//   buffer=BYTES                 send and receive buffer of each connection
//
// The topology is that of ../ns2/speed.tcl. CUBIC, SACK, time stamps, PRR, an ACK per packet, packets of 1500 bytes. Routes are nix vectors,
// the fastest kind that ns-3 has here; the queues are those of the devices, without a queue discipline above. Prints one line
// of JSON. Built by ../systems.py against an installed ns-3.

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

const uint32_t PAYLOAD_BYTES = 1448; // with 12 bytes of time stamps and 40 of headers: 1500

std::map<std::string, double> options = {
    {"flows", 1},    {"pairs", 1},    {"rate", 1000},  {"queue", 100}, {"access_queue", 100},
    {"seconds", 20}, {"rtt_min", 12}, {"rtt_max", 12}, {"spread", 0},  {"buffer", 16e6},
};

bool read_options(int count, char** arguments) {
    for (int i = 1; i < count; i++) {
        const char* equals = std::strchr(arguments[i], '=');
        const std::string key(arguments[i], equals ? equals - arguments[i] : std::strlen(arguments[i]));
        if (equals == nullptr || options.count(key) == 0) {
            std::cerr << "speed: unknown key " << key << "\n";
            return false;
        }
        options[key] = std::atof(equals + 1);
    }
    return true;
}

void set_defaults() {
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpCubic"));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(PAYLOAD_BYTES));
    const uint32_t buffer = static_cast<uint32_t>(options["buffer"]);
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
}

// A link between two nodes in a subnet of its own; returns the address of the second.
Ipv4Address link(Ptr<Node> a, Ptr<Node> b, double mbps, double ms, double packets) {
    static Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    PointToPointHelper helper;
    helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(mbps * 1e6))));
    helper.SetChannelAttribute("Delay", TimeValue(NanoSeconds(static_cast<int64_t>(ms * 1e6 + 0.5))));
    QueueSize limit(QueueSizeUnit::PACKETS, static_cast<uint32_t>(packets));
    helper.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(limit));
    NetDeviceContainer devices = helper.Install(a, b);
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    // Assigning addresses puts a queue discipline on each device; the device's own queue is the one that is meant.
    TrafficControlHelper().Uninstall(devices);
    addresses.NewNetwork();
    return interfaces.GetAddress(1);
}

long peak_rss_bytes() {
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line)) {
        if (line.rfind("VmHWM:", 0) == 0) {
            return std::atol(line.c_str() + 6) * 1024;
        }
    }
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    if (!read_options(count, arguments)) {
        return 2;
    }
    set_defaults();
    const uint32_t pairs = static_cast<uint32_t>(options["pairs"]);
    const uint32_t flows = static_cast<uint32_t>(options["flows"]);
    const double rate = options["rate"];

    NodeContainer routers(2), senders(pairs), receivers(pairs);
    InternetStackHelper stack;
    Ipv4NixVectorHelper routing;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    stack.Install(NodeContainer(routers, senders, receivers));

    link(routers.Get(0), routers.Get(1), rate, pairs == 1 ? options["rtt_min"] / 6 : 1, options["queue"]);
    std::vector<Ipv4Address> destinations;
    for (uint32_t i = 0; i < pairs; i++) {
        double access_rate = rate;
        double access_delay = options["rtt_min"] / 6;
        double room = options["queue"];
        if (pairs > 1) {
            const double share = static_cast<double>(i) / (pairs - 1);
            const double rtt = options["rtt_min"] + share * (options["rtt_max"] - options["rtt_min"]);
            access_rate = 10 * rate;
            access_delay = (rtt / 2 - 1) / 2;
            room = options["access_queue"];
        }
        link(senders.Get(i), routers.Get(0), access_rate, access_delay, room);
        destinations.push_back(link(routers.Get(1), receivers.Get(i), access_rate, access_delay, room));
    }

    ApplicationContainer sinks;
    for (uint32_t i = 0; i < flows; i++) {
        const uint32_t pair = i % pairs;
        const uint16_t port = static_cast<uint16_t>(5000 + i / pairs);
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.Add(sink.Install(receivers.Get(pair)));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(destinations[pair], port));
        source.SetAttribute("SendSize", UintegerValue(PAYLOAD_BYTES));
        source.Install(senders.Get(pair)).Start(Seconds(options["spread"] * i / flows));
    }

    Simulator::Stop(Seconds(options["seconds"]));
    Simulator::Run();

    uint64_t bytes = 0;
    for (uint32_t i = 0; i < sinks.GetN(); i++) {
        bytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    }
    std::cout << "{\"version\": \"\", \"delivered_packets\": " << bytes / PAYLOAD_BYTES
              << ", \"sent_packets\": null, \"peak_rss_bytes\": " << peak_rss_bytes() << "}" << std::endl;
    // Without the long way through all destructors: what was to be measured has been.
    std::_Exit(0);
}
