# A pair of the fifteen-variant contest, measured for speed: two wired hosts, a base station, and two stations on one 802.11 channel at
# 1 Mb/s with RTS/CTS for every frame; a TCP flow from each host to a station of its own, from 5 to 105 s and from 15 to 120 s.
#
# ns contest.tcl key=value ...
#   scheduler=NAME       Calendar (the default of ns-2), Splay, Heap or List
#   first=NAME second=NAME   the variants: an agent below Agent/TCP, or Linux/MODULE
#   window=PACKETS       window_ of both senders
#   seconds=S            length of the run
#
# Prints one line of JSON on stderr. Nothing is traced, and packets carry only the headers in use.

array set opt {scheduler Calendar first Reno second Linux/cubic window 20 seconds 120}
foreach pair $argv {
    lassign [split $pair =] key value
    if {![info exists opt($key)]} { puts stderr "contest.tcl: unknown key $key"; exit 2 }
    set opt($key) $value
}

remove-all-packet-headers
add-packet-header IP TCP Flags LL Mac ARP Message

Mac/802_11 set dataRate_ 1Mb
Mac/802_11 set basicRate_ 1Mb
Mac/802_11 set RTSThreshold_ 0
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ $opt(window)

set ns [new Simulator]
$ns use-scheduler $opt(scheduler)
$ns node-config -addressType hierarchical
# A domain for each wired node: packets to another domain all take the same way out of the base station.
AddrParams set domain_num_ 3
AddrParams set cluster_num_ {1 1 1}
AddrParams set nodes_num_ {1 1 3}
# Wireless nodes cannot be made without a trace file. It is taken away before the wired links would write to it.
$ns trace-all [open /dev/null w]
set topo [new Topography]
$topo load_flatgrid 500 500
create-god 3
set node(0) [$ns node 0.0.0]
set node(1) [$ns node 1.0.0]
$ns node-config -adhocRouting DSDV -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue -ifqLen 50 \
    -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topo -wiredRouting ON \
    -agentTrace OFF -routerTrace OFF -macTrace OFF
set node(2) [$ns node 2.0.0]
$ns node-config -wiredRouting OFF
set node(3) [$ns node 2.0.1]
set node(4) [$ns node 2.0.2]
foreach {i x} {2 250 3 200 4 300} {
    $node($i) random-motion 0
    $node($i) set X_ $x
    $node($i) set Y_ 250
    $node($i) set Z_ 0
    if {$i > 2} { $node($i) base-station [AddrParams addr2id [$node(2) node-addr]] }
}
$ns set traceAllFile_ ""
$ns duplex-link $node(0) $node(2) 10Mb 2ms DropTail
$ns duplex-link $node(1) $node(2) 10Mb 2ms DropTail

set flows {}
foreach {from to name start stop} [list 0 3 $opt(first) 5 105 1 4 $opt(second) 15 120] {
    lassign [split $name /] agent module
    set tcp [new Agent/TCP/$agent]
    if {$agent in {Sack1 Fack Linux}} { set sink [new Agent/TCPSink/Sack1] } else { set sink [new Agent/TCPSink] }
    $ns attach-agent $node($from) $tcp
    $ns attach-agent $node($to) $sink
    $ns connect $tcp $sink
    if {$module ne ""} { $ns at 0 "$tcp select_ca $module" }
    set source [new Application/FTP]
    $source attach-agent $tcp
    $ns at $start "$source start"
    $ns at $stop "$source stop"
    lappend flows $tcp
}

proc finish {} {
    global flows
    # ack_ is the highest segment that the sink has acknowledged, counted from 0: all up to it were delivered.
    set delivered 0
    foreach tcp $flows { incr delivered [expr {[$tcp set ack_] + 1}] }
    set status [open /proc/self/status]
    regexp {VmHWM:\s+(\d+) kB} [read $status] all kib
    # To stderr: TCP/Linux chats on stdout.
    puts stderr "{\"version\": \"[ns-version]\", \"delivered_packets\": $delivered, \"peak_rss_bytes\": [expr {$kib * 1024}]}"
    exit 0
}
$ns at $opt(seconds) finish
$ns run
