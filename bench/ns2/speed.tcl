# A speed workload for ns-2.35: TCP flows over one path of routers, or over a dumbbell, without traces.
#
# ns speed.tcl key=value ...
#   scheduler=Calendar|Splay|Heap|Map   the event scheduler
#   agent=Linux|Sack1                   TCP/Linux with CUBIC, or TCP/Sack1 (Reno's window, SACK recovery)
#   flows=N pairs=N rate=MBPS queue=PACKETS access_queue=PACKETS seconds=S
#   rtt_min=MS rtt_max=MS               base round-trip times, spread evenly over the pairs of hosts
#   spread=S                            the flows start evenly over this time
#
# One pair of hosts is joined host-router-router-host, with the same rate and queue on each of the three links. Several make a
# dumbbell whose access links are ten times as fast, with the queue on the bottleneck. Prints one line of JSON on
# stderr.

array set opt {scheduler Calendar agent Linux flows 1 pairs 1 rate 1000 queue 100 access_queue 100 seconds 20 rtt_min 12 rtt_max 12 spread 0}
foreach pair $argv {
    lassign [split $pair =] key value
    if {![info exists opt($key)]} { puts stderr "speed.tcl: unknown key $key"; exit 2 }
    set opt($key) $value
}

# All headers but those in use are left out: ns-2 gives every packet room for each header that is registered.
remove-all-packet-headers
add-packet-header IP TCP Flags

set ns [new Simulator]
$ns use-scheduler $opt(scheduler)

# 1460 bytes of data and 40 of headers: 1500 on the wire. The window is never the limit.
Agent/TCP set packetSize_ 1460
Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 10
Agent/TCP set timestamps_ true
Agent/TCP set minrto_ 0.2
Agent/TCPSink set packetSize_ 40
Queue set limit_ $opt(queue)

proc link {a b mbps ms limit} {
    global ns
    $ns duplex-link $a $b [expr {$mbps}]Mb [expr {$ms}]ms DropTail
    $ns queue-limit $a $b $limit
    $ns queue-limit $b $a $limit
}

set left [$ns node]
set right [$ns node]
set flows {}
set pairs $opt(pairs)
if {$pairs == 1} {
    set hop [expr {$opt(rtt_min) / 6.0}]
    link $left $right $opt(rate) $hop $opt(queue)
} else {
    link $left $right $opt(rate) 1 $opt(queue)
}
for {set i 0} {$i < $pairs} {incr i} {
    set from($i) [$ns node]
    set to($i) [$ns node]
    if {$pairs == 1} {
        link $from($i) $left $opt(rate) $hop $opt(queue)
        link $right $to($i) $opt(rate) $hop $opt(queue)
    } else {
        set share [expr {double($i) / ($pairs - 1)}]
        set rtt [expr {$opt(rtt_min) + $share * ($opt(rtt_max) - $opt(rtt_min))}]
        set access [expr {($rtt / 2.0 - 1) / 2.0}]
        link $from($i) $left [expr {10 * $opt(rate)}] $access $opt(access_queue)
        link $right $to($i) [expr {10 * $opt(rate)}] $access $opt(access_queue)
    }
}
for {set i 0} {$i < $opt(flows)} {incr i} {
    set tcp [new Agent/TCP/$opt(agent)]
    if {$opt(agent) eq "Linux"} { $ns at 0 "$tcp select_ca cubic" }
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $from([expr {$i % $pairs}]) $tcp
    $ns attach-agent $to([expr {$i % $pairs}]) $sink
    $ns connect $tcp $sink
    set source [new Application/FTP]
    $source attach-agent $tcp
    $ns at [expr {$opt(spread) * $i / double($opt(flows))}] "$source start"
    lappend flows $tcp
}

proc finish {} {
    global flows
    # ack_ is the highest segment that the sink has acknowledged, counted from 0: all up to it were delivered.
    set delivered 0
    set sent 0
    foreach tcp $flows {
        incr delivered [expr {[$tcp set ack_] + 1}]
        incr sent [$tcp set ndatapack_]
    }
    set status [open /proc/self/status]
    regexp {VmHWM:\s+(\d+) kB} [read $status] all kib
    # To stderr: TCP/Linux chats on stdout.
    puts stderr "{\"version\": \"[ns-version]\", \"delivered_packets\": $delivered, \"sent_packets\": $sent, \"peak_rss_bytes\": [expr {$kib * 1024}]}"
    exit 0
}
$ns at $opt(seconds) finish
$ns run
