# Two flows side by side on ns-2.35, on the topology of the Agile-SD paper's figure 8: 1 Gb/s on all links, drop-tail.
#
#     s1, s2 --1 ms-- r1 --4 ms-- r2 --1 ms-- d1, d2
#
# ns pairs.tcl key=value ...
#   agent1=CLASS module1=NAME sink1=CLASS   of the first flow: Linux with a module, or Newreno; agent2 .. of the second
#   start1=S start2=S                       when they start
#   limit=PACKETS access=PACKETS            limit_ of the shared link's queues, and of those of the hosts' links
#   overhead=S                              random time before each packet is sent, which breaks phases
#   library=FILE                            another module for Linux: agile_sd.so, see agile_sd.c
#   duration=S sample=S
#
# Prints one line of JSON on stderr: for each flow payload packets acknowledged, timeouts, retransmitted packets and cwnd_
# every `sample` seconds; packets that each queue of data dropped.
array set opt {
    agent1 Newreno module1 "" sink1 TCPSink start1 0
    agent2 Newreno module2 "" sink2 TCPSink start2 0
    size 960 limit 5 access 5 overhead 0 library "" duration 100 sample 0.1
}
foreach pair $argv {
    lassign [split $pair =] key value
    if {![info exists opt($key)]} { puts stderr "pairs.tcl: unknown key $key"; exit 2 }
    set opt($key) $value
}
if {$opt(library) ne ""} { load $opt(library) Agilesd }
Agent/TCP set packetSize_ $opt(size)
Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 2
Agent/TCP set tcpTick_ 0.001
Agent/TCP set minrto_ 0.2
Agent/TCP set ts_option_size_ 0
Agent/TCP set overhead_ $opt(overhead)

set ns [new Simulator]
foreach name {s1 s2 r1 r2 d1 d2} { set $name [$ns node] }
set links [list $s1 $r1 $s2 $r1 $r2 $d1 $r2 $d2]
foreach {from to} $links {
    $ns duplex-link $from $to 1000Mb 1ms DropTail
    $ns queue-limit $from $to $opt(access)
    $ns queue-limit $to $from $opt(access)
}
$ns duplex-link $r1 $r2 1000Mb 4ms DropTail
$ns queue-limit $r1 $r2 $opt(limit)
$ns queue-limit $r2 $r1 $opt(limit)
foreach {from to} [list $s1 $r1 $s2 $r1 $r1 $r2] {
    lappend monitors [$ns monitor-queue $from $to [open /dev/null w]]
}
foreach k {1 2} {
    set tcp [new Agent/TCP/$opt(agent$k)]
    if {$opt(agent$k) eq "Linux"} { $tcp set timestamps_ true }
    set sink [new Agent/$opt(sink$k)]
    $ns attach-agent [set s$k] $tcp
    $ns attach-agent [set d$k] $sink
    $ns connect $tcp $sink
    if {$opt(agent$k) eq "Linux"} { $ns at 0 "$tcp select_ca $opt(module$k)" }
    set source [new Application/FTP]
    $source attach-agent $tcp
    $ns at $opt(start$k) "$source start"
    set tcp$k $tcp
    set trace$k {}
}

proc sample {i} {
    global ns opt tcp1 tcp2 trace1 trace2
    lappend trace1 [format %.6g [$tcp1 set cwnd_]]
    lappend trace2 [format %.6g [$tcp2 set cwnd_]]
    incr i
    if {$i * $opt(sample) < $opt(duration)} { $ns at [expr {$i * $opt(sample)}] "sample $i" }
}
proc finish {} {
    global monitors tcp1 tcp2 trace1 trace2
    set dropped {}
    foreach monitor $monitors { lappend dropped [expr {int([$monitor set pdrops_])}] }
    set flows {}
    foreach k {1 2} {
        set tcp [set tcp$k]
        lappend flows "{\"acknowledged\": [expr {max(0, int([$tcp set ack_]))}], \"timeouts\": [expr {int([$tcp set nrexmit_])}],\
            \"retransmitted\": [expr {int([$tcp set nrexmitpack_])}], \"cwnd\": \[[join [set trace$k] ,]\]}"
    }
    puts stderr "{\"version\": \"[ns-version]\", \"dropped\": \[[join $dropped ,]\], \"flows\": \[[join $flows ,]\]}"
    exit 0
}
$ns at 0 "sample 0"
$ns at $opt(duration) finish
$ns run
