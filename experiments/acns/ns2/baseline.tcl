# The evaluation of ACNS without ACNS, on ns-2.35: two sites, three TCP flows (CUBIC) and three UDP flows.
#
#     N0 \                                                        / N3
#     N1 -- A ==(last mile)== P1 ---(provider)--- P2 ==(last mile)== B -- N4
#     N2 /                                                        \ N5
#
# ns baseline.tcl key=value ...
#   seed=N jitter=S      each flow starts later by a random time in [0, jitter), drawn from seed
#   rate=MBPS queue=PACKETS   of both last miles; everything else is a hundred times as fast or more
#   delay=MS             one way, host to host
#   sample=S             interval of the samples of srtt
#
# Prints one line of JSON on stderr: per TCP flow the payload bytes sent (retransmissions included), the mean over its
# data packets of the round-trip time, the mean of srtt over time (both in milliseconds), and the packets that the queues
# dropped.

array set opt {seed 1 jitter 0.2 rate 3 queue 20 delay 150 sample 0.1}
foreach pair $argv {
    lassign [split $pair =] key value
    if {![info exists opt($key)]} { puts stderr "baseline.tcl: unknown key $key"; exit 2 }
    set opt($key) $value
}
expr {srand($opt(seed))}

# 1000 bytes of payload, 1040 on the wire. The window is never the limit. Clock ticks of 1 ms.
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ 100000
Agent/TCP set windowInit_ 2
Agent/TCP set timestamps_ true
Agent/TCP set tcpTick_ 0.001
Agent/TCP set minrto_ 0.2

set ns [new Simulator]
set last_mile 5
set lan 1
set provider [expr {$opt(delay) - 2 * $last_mile - 2 * $lan}]

foreach name {A B P1 P2} { set node($name) [$ns node] }
$ns duplex-link $node(A) $node(P1) $opt(rate)Mb ${last_mile}ms DropTail
$ns duplex-link $node(P2) $node(B) $opt(rate)Mb ${last_mile}ms DropTail
$ns duplex-link $node(P1) $node(P2) 1000Mb ${provider}ms DropTail
foreach {from to} {A P1 P1 A P2 B B P2} { $ns queue-limit $node($from) $node($to) $opt(queue) }
foreach {from to} {P1 P2 P2 P1} { $ns queue-limit $node($from) $node($to) 10000 }
for {set i 0} {$i < 6} {incr i} {
    set node(N$i) [$ns node]
    set site [expr {$i < 3 ? "A" : "B"}]
    $ns duplex-link $node(N$i) $node($site) 1000Mb ${lan}ms DropTail
    $ns queue-limit $node(N$i) $node($site) 10000
    $ns queue-limit $node($site) $node(N$i) 10000
}

# Only the last miles queue: their traces hold every drop, and when each packet came to the first and left the second.
set path [exec mktemp]
set trace [open $path w]
$ns trace-queue $node(A) $node(P1) $trace
$ns trace-queue $node(P2) $node(B) $trace

proc later {start} {
    global opt
    return [expr {$start + $opt(jitter) * rand()}]
}

# fid start from to
foreach {fid start from to} {1 0.1 N0 N5 2 15.1 N0 N4 3 30.1 N1 N3} {
    set tcp [new Agent/TCP/Linux]
    set sink [new Agent/TCPSink/Sack1]
    $tcp set fid_ $fid
    $ns attach-agent $node($from) $tcp
    $ns attach-agent $node($to) $sink
    $ns connect $tcp $sink
    $ns at 0 "$tcp select_ca cubic"
    set source [new Application/FTP]
    $source attach-agent $tcp
    set begin [later $start]
    $ns at $begin "$source start"
    $ns at $begin "sample $fid"
    $ns at 118 "$source stop"
    set agent($fid) $tcp
    set sum($fid) 0
    set count($fid) 0
}
foreach {fid start from to mbps} {4 0.1 N0 N3 0.5 5 20.1 N1 N4 0.6 6 40.1 N2 N5 0.5} {
    set udp [new Agent/UDP]
    set null [new Agent/Null]
    $udp set fid_ $fid
    $udp set packetSize_ 1000
    $ns attach-agent $node($from) $udp
    $ns attach-agent $node($to) $null
    $ns connect $udp $null
    set source [new Application/Traffic/CBR]
    $source set packetSize_ 1000
    $source set rate_ ${mbps}Mb
    $source attach-agent $udp
    $ns at [later $start] "$source start"
    $ns at 118 "$source stop"
}

# srtt_ is kept in ticks, eight times its value.
proc sample {fid} {
    global ns opt agent sum count
    set srtt [expr {[$agent($fid) set srtt_] * [$agent($fid) set tcpTick_] * 1000.0 / 8}]
    if {$srtt > 0} {
        set sum($fid) [expr {$sum($fid) + $srtt}]
        incr count($fid)
    }
    if {[$ns now] + $opt(sample) < 118} { $ns after $opt(sample) "sample $fid" }
}

proc finish {} {
    global ns opt node lan agent sum count trace path
    $ns flush-trace
    close $trace
    foreach fid {1 2 3 4 5 6} {
        set lost($fid) 0
        set crossing($fid) 0
        set crossed($fid) 0
    }
    # Columns: event, time, from, to, type, size, flags, flow, source, destination, sequence number, packet.
    set first [$node(A) id]
    set last [$node(B) id]
    set file [open $path]
    while {[gets $file line] >= 0} {
        lassign $line event time from to type size flags fid src dst seq packet
        if {$event eq "d"} {
            incr lost($fid)
        } elseif {$event eq "+" && $from == $first} {
            set came($packet) $time
        } elseif {$event eq "r" && $to == $last} {
            set crossing($fid) [expr {$crossing($fid) + $time - $came($packet)}]
            incr crossed($fid)
        }
    }
    close $file
    file delete $path
    # Nothing queues on the rest of the way: propagation, and an ACK's 40 bytes on both last miles.
    set rest [expr {$opt(delay) + 2 * $lan + 2 * 0.32 / $opt(rate)}]
    set flows {}
    foreach fid {1 2 3} {
        set sent [expr {int([$agent($fid) set ndatapack_]) * 1000}]
        set rtt [expr {1000 * $crossing($fid) / $crossed($fid) + $rest}]
        lappend flows "{\"name\": \"tcp$fid\", \"sent_bytes\": $sent, \"rtt_mean_ms\": $rtt,\
            \"srtt_mean_ms\": [expr {$sum($fid) / $count($fid)}], \"lost_packets\": $lost($fid)}"
    }
    puts stderr "{\"version\": \"[ns-version]\", \"flows\": \[[join $flows {, }]\]}"
    exit 0
}
$ns at 118.1 finish
$ns run
