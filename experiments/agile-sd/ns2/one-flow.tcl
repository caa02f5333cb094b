# The Agile-SD paper's first scenario on ns-2.35: one flow, 1 Gb/s on all links, drop-tail, no SACK.
#
#     s1 --1 ms-- r1 --4 ms-- r2 --1 ms-- d1
#
# ns one-flow.tcl key=value ...
#   agent=CLASS        Linux (Agent/TCP/Linux with a module), or one of ns-2's own: Newreno
#   module=NAME        the module: cubic, compound, reno
#   limit=PACKETS      limit_ of every queue
#   per=P seed=N       packet error rate of the middle link, data only; seed of its random numbers
#   duration=S sample=S
#
# Prints one line of JSON on stderr: payload bytes acknowledged, packets dropped, timeouts, cwnd_ every `sample` seconds.
array set opt { agent Linux module cubic sink TCPSink size 1000 limit 5 per 0 seed 1 duration 100 sample 0.1 }
foreach pair $argv {
    lassign [split $pair =] key value
    if {![info exists opt($key)]} { puts stderr "one-flow.tcl: unknown key $key"; exit 2 }
    set opt($key) $value
}
$defaultRNG seed [expr {7919 * $opt(seed) + 104729}]
Agent/TCP set packetSize_ $opt(size)
Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 2
Agent/TCP set tcpTick_ 0.001
Agent/TCP set minrto_ 0.2
Agent/TCP set ts_option_size_ 0

set ns [new Simulator]
foreach name {s1 r1 r2 d1} { set $name [$ns node] }
$ns duplex-link $s1 $r1 1000Mb 1ms DropTail
$ns duplex-link $r1 $r2 1000Mb 4ms DropTail
$ns duplex-link $r2 $d1 1000Mb 1ms DropTail
set monitors {}
foreach {from to} [list $s1 $r1 $r1 $s1 $r1 $r2 $r2 $r1 $r2 $d1 $d1 $r2] {
    $ns queue-limit $from $to $opt(limit)
    lappend monitors [$ns monitor-queue $from $to [open /dev/null w]]
}
if {$opt(per) > 0} {
    set errors [new ErrorModel]
    $errors unit pkt
    $errors set rate_ $opt(per)
    $errors drop-target [new Agent/Null]
    $ns link-lossmodel $errors $r1 $r2
}
set tcp [new Agent/TCP/$opt(agent)]
if {$opt(agent) eq "Linux"} { $tcp set timestamps_ true }
set sink [new Agent/$opt(sink)]
$ns attach-agent $s1 $tcp
$ns attach-agent $d1 $sink
$ns connect $tcp $sink
if {$opt(agent) eq "Linux"} { $ns at 0 "$tcp select_ca $opt(module)" }
set source [new Application/FTP]
$source attach-agent $tcp
$ns at 0 "$source start"

set trace {}
proc sample {k} {
    global ns opt tcp trace
    lappend trace [format %.6g [$tcp set cwnd_]]
    incr k
    if {$k * $opt(sample) < $opt(duration)} { $ns at [expr {$k * $opt(sample)}] "sample $k" }
}
proc finish {} {
    global opt monitors tcp trace
    set dropped 0
    foreach monitor $monitors { incr dropped [expr {int([$monitor set pdrops_])}] }
    puts stderr "{\"version\": \"[ns-version]\", \"delivered_bytes\": [expr {max(0, int([$tcp set ack_])) * 1000}],\
        \"dropped_packets\": $dropped, \"timeouts\": [expr {int([$tcp set nrexmit_])}],\
        \"retransmitted\": [expr {int([$tcp set nrexmitpack_])}], \"cwnd\": \[[join $trace ,]\]}"
    exit 0
}
$ns at 0 "sample 0"
$ns at $opt(duration) finish
$ns run
