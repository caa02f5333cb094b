# One TCP flow over an 802.11 channel, on ns-2.35:
#
#     0 --- 100 Mb/s, 2 ms --- 1 ~~~ 802.11 ~~~ 2        1 is the base station, 2 the station, both in the same place but for 10 m
#
# ns wifi.tcl key=value ...
#   rate=MBPS basic=MBPS  of data frames, and of RTS, CTS and ACK
#   preamble=BITS        144 (long) or 72 (short), sent at 1 Mb/s as the 48 bits of PLCP header are
#   rts=BYTES            RTSThreshold_: frames of this length or more use RTS/CTS
#   window=PACKETS       window_
#   from=S to=S          payload delivered between them is what counts; the flow starts at 1 s
#   seed=N
#
# Prints one line of JSON on stderr: the payload delivered, packets of data sent, retransmitted, and timeouts.
#
# A data frame has 34 bytes of MAC header and FCS (ns-2's header has four addresses), no LLC/SNAP, and a TCP ACK has 60 bytes of
# packet, for the station's routing agent adds an IP header to what its own node sends.

array set opt {rate 1 basic 1 preamble 144 rts 3000 window 20 from 5 to 65 seed 1 trace ""}
foreach pair $argv {
    set cut [string first = $pair]
    set key [string range $pair 0 [expr {$cut - 1}]]
    if {![info exists opt($key)]} { puts stderr "wifi.tcl: unknown key $key"; exit 2 }
    set opt($key) [string range $pair [expr {$cut + 1}] end]
}
# Small seeds give small first draws; so they are spread.
$defaultRNG seed [expr {7919 * $opt(seed) + 104729}]

Mac/802_11 set dataRate_ $opt(rate)Mb
Mac/802_11 set basicRate_ $opt(basic)Mb
Mac/802_11 set RTSThreshold_ $opt(rts)
Mac/802_11 set PreambleLength_ $opt(preamble)
Mac/802_11 set PLCPHeaderLength_ 48
Mac/802_11 set PLCPDataRate_ 1.0e6
Mac/802_11 set SlotTime_ 0.000020
Mac/802_11 set SIFS_ 0.000010
Mac/802_11 set CWMin_ 31
Mac/802_11 set CWMax_ 1023
Mac/802_11 set ShortRetryLimit_ 7
Mac/802_11 set LongRetryLimit_ 4
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ $opt(window)
Agent/TCP set tcpTick_ 0.001

set ns [new Simulator]
$ns node-config -addressType hierarchical
AddrParams set domain_num_ 2
AddrParams set cluster_num_ {1 1}
AddrParams set nodes_num_ {1 2}
# Wireless nodes cannot be made without a trace file; wired links made after it is taken away are not traced.
set trace [open [expr {$opt(trace) eq "" ? "/dev/null" : $opt(trace)}] w]
$ns trace-all $trace
set onoff [expr {$opt(trace) eq "" ? "OFF" : "ON"}]
set topo [new Topography]
$topo load_flatgrid 500 500
create-god 2
set host [$ns node 0.0.0]
$ns node-config -adhocRouting DSDV -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue -ifqLen 50 \
    -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topo -wiredRouting ON \
    -agentTrace $onoff -routerTrace $onoff -macTrace $onoff
set base [$ns node 1.0.0]
$ns node-config -wiredRouting OFF
set station [$ns node 1.0.1]
$station base-station [AddrParams addr2id [$base node-addr]]
foreach {node x} [list $base 250 $station 260] {
    $node random-motion 0
    $node set X_ $x
    $node set Y_ 250
    $node set Z_ 0
}
if {$opt(trace) eq ""} { $ns set traceAllFile_ "" }
$ns duplex-link $host $base 100Mb 2ms DropTail

set tcp [new Agent/TCP/Newreno]
set sink [new Agent/TCPSink]
$ns attach-agent $host $tcp
$ns attach-agent $station $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 1 "$ftp start"

proc mark {} {
    global tcp sink
    # bytes_ counts packets with their 40 bytes of headers, and the first, which stands for the SYN, has nothing else.
    return [list [expr {([$sink set bytes_] - 40) / 1040}] [$tcp set ndatapack_] [$tcp set nrexmitpack_] [$tcp set nrexmit_]]
}
$ns at $opt(from) {set first [mark]}
$ns at $opt(to) {
    lassign $first r0 s0 x0 t0
    lassign [mark] r1 s1 x1 t1
    puts stderr "{\"version\": \"[ns-version]\", \"delivered_bytes\": [expr {($r1 - $r0) * 1000}],\
        \"sent_packets\": [expr {$s1 - $s0}], \"retransmitted\": [expr {$x1 - $x0}], \"timeouts\": [expr {$t1 - $t0}]}"
    flush $trace
    exit 0
}
$ns run
