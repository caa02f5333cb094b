# Two TCP variants on the contest's network, on ns-2.35:
#
#     0 --- 10 Mb/s, 2 ms --- 2 ~~~ 802.11, one channel ~~~ 3        flow A: 0 to 3
#     1 --- 10 Mb/s, 2 ms --- 2 ~~~                     ~~~ 4        flow B: 1 to 4
#
# ns contest.tcl key=value ...
#   first=NAME second=NAME   the variants of A and B: an agent of ns-2's below Agent/TCP, or Linux/MODULE
#   window=PACKETS       window_ of both senders
#   start=S,S stop=S,S   of A and B
#   measure=S,S          what is counted lies between these
#   routing=NAME         of base station and stations; of what Debian builds only DSDV delivers here
#   ifq=PACKETS          every wireless interface's queue
#   rts=BYTES            RTSThreshold_
#   timestamps=true|false options=BYTES   timestamps_ of TCP/Linux, and the room that they take in a packet
#   vegas_size=BYTES     packetSize_ of Agent/TCP/Vegas, which counts no headers
#   places=X,Y/X,Y/X,Y   of the base station and of nodes 3 and 4, in metres
#   seed=N               0: ns-2's own default
#   sample=S             interval of the samples of cwnd_, bytes received and srtt_ (0: none)
#   trace=FILE           an ns-2 trace, if not empty
#
# Prints one line of JSON on stderr. Bytes are those of whole packets, with headers. What is not set here (802.11 at 1 Mb/s and RTS/CTS for every
# frame among it) is ns-2's default.

array set opt {
    first Newreno second Newreno window 20 start 5,15 stop 105,120 measure 40,100 routing DSDV ifq 50 rts 0
    timestamps false options 10 vegas_size 1000 places 250,250/200,250/300,250 seed 0 sample 0 trace ""
}
foreach pair $argv {
    set cut [string first = $pair]
    set key [string range $pair 0 [expr {$cut - 1}]]
    if {![info exists opt($key)]} { puts stderr "contest.tcl: unknown key $key"; exit 2 }
    set opt($key) [string range $pair [expr {$cut + 1}] end]
}
# Small seeds give small first draws; so they are spread.
if {$opt(seed) != 0} { $defaultRNG seed [expr {7919 * $opt(seed) + 104729}] }

Mac/802_11 set dataRate_ 1Mb
Mac/802_11 set basicRate_ 1Mb
Mac/802_11 set RTSThreshold_ $opt(rts)
Agent/TCP set window_ $opt(window)
Agent/TCP set packetSize_ 1000
Agent/TCP set ts_option_size_ $opt(options)

set ns [new Simulator]
$ns node-config -addressType hierarchical
# A domain for each wired node: packets to another domain all take the same way out of the base station.
AddrParams set domain_num_ 3
AddrParams set cluster_num_ {1 1 1}
AddrParams set nodes_num_ {1 1 3}
# Wireless nodes cannot be made without a trace file; wired links made after it is taken away are not traced.
set trace [open [expr {$opt(trace) eq "" ? "/dev/null" : $opt(trace)}] w]
$ns trace-all $trace
set topo [new Topography]
$topo load_flatgrid 500 500
create-god 3

set node(0) [$ns node 0.0.0]
set node(1) [$ns node 1.0.0]
set channel [new Channel/WirelessChannel]
set onoff [expr {$opt(trace) ne "" ? "ON" : "OFF"}]
$ns node-config -adhocRouting $opt(routing) -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue \
    -ifqLen $opt(ifq) -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel $channel -topoInstance $topo -wiredRouting ON \
    -agentTrace $onoff -routerTrace $onoff -macTrace $onoff
set node(2) [$ns node 2.0.0]
$ns node-config -wiredRouting OFF
set node(3) [$ns node 2.0.1]
set node(4) [$ns node 2.0.2]
foreach i {2 3 4} place [split $opt(places) /] {
    lassign [split $place ,] x y
    $node($i) random-motion 0
    $node($i) set X_ $x
    $node($i) set Y_ $y
    $node($i) set Z_ 0
    if {$i > 2} { $node($i) base-station [AddrParams addr2id [$node(2) node-addr]] }
}
if {$opt(trace) eq ""} { $ns set traceAllFile_ "" }
$ns duplex-link $node(0) $node(2) 10Mb 2ms DropTail
$ns duplex-link $node(1) $node(2) 10Mb 2ms DropTail

set i 0
foreach name [list $opt(first) $opt(second)] {
    lassign [split $name /] agent module
    set tcp($i) [new Agent/TCP/$agent]
    if {$agent in {Sack1 Fack Linux}} { set sink($i) [new Agent/TCPSink/Sack1] } else { set sink($i) [new Agent/TCPSink] }
    if {$agent eq "Vegas"} { $tcp($i) set packetSize_ $opt(vegas_size) }
    if {$agent eq "Linux"} { $tcp($i) set timestamps_ $opt(timestamps) }
    $tcp($i) set fid_ [expr {$i + 1}]
    $ns attach-agent $node($i) $tcp($i)
    $ns attach-agent $node([expr {$i + 3}]) $sink($i)
    $ns connect $tcp($i) $sink($i)
    if {$module ne ""} { $ns at 0 "$tcp($i) select_ca $module" }
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    $ns at [lindex [split $opt(start) ,] $i] "$ftp($i) start"
    $ns at [lindex [split $opt(stop) ,] $i] "$ftp($i) stop"
    set cwnd($i) {}
    set got($i) {}
    set srtt($i) {}
    incr i
}

proc mark {name} {
    global tcp sink at
    foreach i {0 1} {
        set at($name,$i) [list [$tcp($i) set ndatapack_] [$sink($i) set bytes_] [$tcp($i) set nrexmitpack_] [$tcp($i) set nrexmit_]]
    }
}
proc sample {} {
    global ns opt tcp sink cwnd got srtt
    foreach i {0 1} { lappend cwnd($i) [format %.5g [$tcp($i) set cwnd_]]; lappend got($i) [$sink($i) set bytes_]; lappend srtt($i) [expr {[$tcp($i) set srtt_]}] }
    $ns after $opt(sample) sample
}
if {$opt(sample) > 0} { $ns at $opt(sample) sample }
lassign [split $opt(measure) ,] from to
$ns at $from "mark from"
$ns at $to "mark to"
proc finish {} {
    global opt at cwnd got srtt from to ns trace
    $ns flush-trace
    close $trace
    set flows {}
    foreach i {0 1} {
        lassign $at(from,$i) s0 r0 x0 t0
        lassign $at(to,$i) s1 r1 x1 t1
        lappend flows "{\"sent_packets\": [expr {$s1 - $s0}], \"received_bytes\": [expr {$r1 - $r0}],\
            \"retransmitted\": [expr {$x1 - $x0}], \"timeouts\": [expr {$t1 - $t0}],\
            \"cwnd\": \[[join $cwnd($i) ,]\], \"received\": \[[join $got($i) ,]\], \"srtt\": \[[join $srtt($i) ,]\]}"
    }
    puts stderr "{\"version\": \"[ns-version]\", \"flows\": \[[join $flows ,]\]}"
    exit 0
}
$ns at [expr {max([lindex [split $opt(stop) ,] 1], $to) + 0.1}] finish
$ns run
