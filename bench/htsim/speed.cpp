// A speed workload for csg-htsim: TCP flows over one path of routers, or over a dumbbell, without loggers.
//
// speed key=value ...
//   flows=N pairs=N rate=MBPS queue=PACKETS access_queue=PACKETS seconds=S
//   rtt_min=MS rtt_max=MS        base round-trip times, spread evenly over the pairs of hosts
//   spread=S                     the flows start evenly over this time
//
// The topology is that of ../ns2/speed.tcl. The TCP is the library's own: Reno with NewReno's recovery, byte-wise windows, no SACK, no
// congestion control but Reno's, a time stamp in each packet, an ACK per packet, timers looked at every 10 ms. The first
// slow-start threshold is the library's, 100 packets: from the losses of an unlimited slow start NewReno takes many seconds to recover, and
// the library would look slower than it is. Prints one line of JSON. Built by ../systems.py against a built copy of the library.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

namespace {

const int PACKET_BYTES = 1500;

std::map<std::string, double> options = {
    {"flows", 1},    {"pairs", 1},    {"rate", 1000},  {"queue", 100}, {"access_queue", 100},
    {"seconds", 20}, {"rtt_min", 12}, {"rtt_max", 12}, {"spread", 0},
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

// One direction of a link: a queue and the wire behind it.
struct Direction {
    std::unique_ptr<Queue> queue;
    std::unique_ptr<Pipe> pipe;

    Direction(double mbps, double ms, double packets)
        : queue(new Queue(speedFromMbps(mbps), static_cast<mem_b>(packets) * PACKET_BYTES,
                          EventList::getTheEventList(), nullptr)),
          pipe(new Pipe(timeFromMs(ms), EventList::getTheEventList())) {}
};

void cross(Route* route, const Direction& direction) {
    route->push_back(direction.queue.get());
    route->push_back(direction.pipe.get());
}

// Both directions of each link on a pair's path, in the order from the sender.
using Path = std::vector<std::pair<std::shared_ptr<Direction>, std::shared_ptr<Direction>>>;

std::pair<std::shared_ptr<Direction>, std::shared_ptr<Direction>> link(double mbps, double ms, double packets) {
    return {std::make_shared<Direction>(mbps, ms, packets), std::make_shared<Direction>(mbps, ms, packets)};
}

std::vector<Path> build_paths(int pairs) {
    const double rate = options["rate"], queue = options["queue"];
    std::vector<Path> paths;
    if (pairs == 1) {
        const double hop = options["rtt_min"] / 6;
        paths.push_back({link(rate, hop, queue), link(rate, hop, queue), link(rate, hop, queue)});
        return paths;
    }
    const auto bottleneck = link(rate, 1, queue);
    for (int i = 0; i < pairs; i++) {
        const double share = static_cast<double>(i) / (pairs - 1);
        const double rtt = options["rtt_min"] + share * (options["rtt_max"] - options["rtt_min"]);
        const double access = (rtt / 2 - 1) / 2;
        const double room = options["access_queue"];
        paths.push_back({link(10 * rate, access, room), bottleneck, link(10 * rate, access, room)});
    }
    return paths;
}

long peak_rss_bytes() {
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line)) {
        if (line.rfind("VmHWM:", 0) == 0) return std::atol(line.c_str() + 6) * 1024;
    }
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (!read_options(count, arguments)) return 2;
    // The library tells of each timeout on std::cout.
    std::cout.setstate(std::ios_base::failbit);

    EventList& events = EventList::getTheEventList();
    events.setEndtime(timeFromSec(options["seconds"]));
    Packet::set_packet_size(PACKET_BYTES);
    TcpRtxTimerScanner scanner(timeFromMs(10), events);

    const int pairs = static_cast<int>(options["pairs"]);
    const int flows = static_cast<int>(options["flows"]);
    const std::vector<Path> paths = build_paths(pairs);
    std::vector<std::unique_ptr<TcpSrc>> sources;
    std::vector<std::unique_ptr<TcpSink>> sinks;
    std::vector<std::unique_ptr<Route>> routes;
    for (int i = 0; i < flows; i++) {
        const Path& path = paths[i % pairs];
        TcpSrc* source = new TcpSrc(nullptr, nullptr, events);
        TcpSink* sink = new TcpSink();
        Route* out = new Route();
        Route* back = new Route();
        for (auto hop = path.begin(); hop != path.end(); ++hop) cross(out, *hop->first);
        for (auto hop = path.rbegin(); hop != path.rend(); ++hop) cross(back, *hop->second);
        out->push_back(sink);
        back->push_back(source);
        source->connect(*out, *back, *sink, timeFromSec(options["spread"] * i / flows));
        scanner.registerTcp(*source);
        sources.emplace_back(source);
        sinks.emplace_back(sink);
        routes.emplace_back(out);
        routes.emplace_back(back);
    }

    while (events.doNextEvent()) {
    }

    uint64_t delivered = 0, sent = 0;
    for (const auto& source : sources) {
        delivered += source->_last_acked / PACKET_BYTES;
        sent += source->_packets_sent / PACKET_BYTES;
    }
    std::printf("{\"version\": \"\", \"delivered_packets\": %llu, \"sent_packets\": %llu, \"peak_rss_bytes\": %ld}\n",
                static_cast<unsigned long long>(delivered), static_cast<unsigned long long>(sent), peak_rss_bytes());
    return 0;
}
