# The evaluation of ACNS without ACNS, on ns-2.35, over the network of ../scenario.toml: each node of the sending site has a last mile
# of its own, the receiving site has one.
#
#     N0 -- R0 ==(3 Mb/s)== \                                         / N3
#     N1 -- R1 ==(3 Mb/s)== P1 ---(provider)--- P2 ==(4.25 Mb/s)== R3 -- N4
#     N2 -- R2 ==(3 Mb/s)== /                                         \ N5
#
# ns two-sites.tcl key=value ...
#   seed=N jitter=S            each flow starts later by a random time in [0, jitter), drawn from seed
#   sack=0|1 delack=0|1        whether the sinks send SACK blocks, and delay ACKs
#   window=N ssthresh=N        bound of cwnd and first ssthresh, segments
#   up=MBPS down=MBPS upqueue=PACKETS downqueue=PACKETS
#
# Prints one line of JSON on stderr: per TCP flow the payload bytes sent (retransmissions included), the packets that the queues dropped, the
# timeouts, and the mean and the largest of srtt_, sampled each 100 ms (in milliseconds).

array set opt {seed 1 jitter 0.1 sack 0 delack 0 window 85 ssthresh 20 up 3 down 4.25 upqueue 101 downqueue 81}
foreach pair $argv {
    lassign [split $pair =] key value
    if {![info exists opt($key)]} { puts stderr "two-sites.tcl: unknown key $key"; exit 2 }
    set opt($key) $value
}
expr {srand($opt(seed))}

Agent/TCP set packetSize_ 1000
Agent/TCP set window_ $opt(window)
Agent/TCP set windowInit_ 2
Agent/TCP set timestamps_ true
Agent/TCP set tcpTick_ 0.001
Agent/TCP set minrto_ 0.2

set ns [new Simulator]
foreach name {N0 N1 N2 N3 N4 N5 R0 R1 R2 R3 P1 P2} { set node($name) [$ns node] }

# ns-2's limits count the packet in transmission, those of the scenario do not: hence one more.
proc link {a b mbps delay queue} {
    global ns node
    $ns duplex-link $node($a) $node($b) ${mbps}Mb ${delay}ms DropTail
    $ns queue-limit $node($a) $node($b) $queue
    $ns queue-limit $node($b) $node($a) $queue
}
foreach i {0 1 2} {
    link N$i R$i 100 2 1001
    link R$i P1 $opt(up) 63 $opt(upqueue)
}
link P1 P2 100 20 1001
link P2 R3 $opt(down) 63 $opt(downqueue)
foreach i {3 4 5} { link R3 N$i 100 2 1001 }

set path [exec mktemp]
set trace [open $path w]
foreach i {0 1 2} { $ns trace-queue $node(R$i) $node(P1) $trace }
$ns trace-queue $node(P2) $node(R3) $trace

proc later {start} {
    global opt
    return [expr {$start + $opt(jitter) * rand()}]
}

set kind "Agent/TCPSink[expr {$opt(sack) ? "/Sack1" : ""}][expr {$opt(delack) ? "/DelAck" : ""}]"
foreach {fid start from to} {1 0.1 N0 N5 2 15.1 N0 N4 3 30.1 N1 N3} {
    set tcp [new Agent/TCP/Linux]
    set sink [new $kind]
    $tcp set fid_ $fid
    $ns attach-agent $node($from) $tcp
    $ns attach-agent $node($to) $sink
    $ns connect $tcp $sink
    $ns at 0 "$tcp select_ca cubic"
    set source [new Application/FTP]
    $source attach-agent $tcp
    set begin [later $start]
    if {$opt(ssthresh) > 0} { $ns at [expr {$begin - 0.001}] "$tcp set ssthresh_ $opt(ssthresh)" }
    $ns at $begin "$source start"
    $ns at $begin "sample $fid"
    $ns at 118 "$source stop"
    set agent($fid) $tcp
    set sum($fid) 0
    set count($fid) 0
    set most($fid) 0
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
    global ns agent sum count most
    set srtt [expr {[$agent($fid) set srtt_] * [$agent($fid) set tcpTick_] * 1000.0 / 8}]
    if {$srtt > 0} {
        set sum($fid) [expr {$sum($fid) + $srtt}]
        incr count($fid)
        if {$srtt > $most($fid)} { set most($fid) $srtt }
    }
    if {[$ns now] + 0.1 < 118} { $ns after 0.1 "sample $fid" }
}

proc finish {} {
    global ns agent sum count most trace path
    $ns flush-trace
    close $trace
    foreach fid {1 2 3 4 5 6} { set lost($fid) 0 }
    # Columns: event, time, from, to, type, size, flags, flow ..
    set file [open $path]
    while {[gets $file line] >= 0} {
        if {[lindex $line 0] eq "d"} { incr lost([lindex $line 7]) }
    }
    close $file
    file delete $path
    set flows {}
    foreach fid {1 2 3} {
        lappend flows "{\"name\": \"tcp$fid\", \"sent_bytes\": [expr {int([$agent($fid) set ndatapack_]) * 1000}],\
            \"lost_packets\": $lost($fid), \"timeouts\": [$agent($fid) set nrexmit_],\
            \"srtt_mean_ms\": [expr {$sum($fid) / $count($fid)}], \"srtt_max_ms\": $most($fid)}"
    }
    puts stderr "{\"version\": \"[ns-version]\", \"flows\": \[[join $flows {, }]\]}"
    exit 0
}
$ns at 118.1 finish
$ns run
