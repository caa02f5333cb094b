# One TCP variant on one dumbbell, on ns-2.35:
#
#     s1 --+                +-- d1        access links: 1 Gb/s, 1 ms, never full; losses at random on those to d1, d2
#          r1 ============ r2
#     s2 --+   bottleneck   +-- d2        drop-tail; the other direction carries only ACKs and is never full
#
# ns pair.tcl key=value ...
#   agent=CLASS          Linux, or one of ns-2's own below Agent/TCP: Tahoe (Agent/TCP itself), Reno, Newreno, Sack1, Fack, Vegas
#   module=NAME          the congestion control of Agent/TCP/Linux
#   rate=MBPS rtt=MS     of the bottleneck, and of the whole path without queueing
#   limit=PACKETS        limit_ of the bottleneck's queue, in ns-2's count: limit_ - 1 wait, one more is being sent
#   per=P                each data packet is lost with this probability
#   flows=1|2 stagger=S  how many flows, and how much later the second starts
#   start=S jitter=S     when the first starts; each starts later by a random time below jitter
#   options=BYTES        room that TCP/Linux's timestamps take in a packet
#   rival=NAME           the module of the second flow, if it is another one (TCP/Linux only)
#   bind=CLASS.VAR:VALUE,..     variables of ns-2's classes, set before any agent is made: Agent/TCP.bugFix_:false
#   param=MODULE.NAME:VALUE,..  parameters of TCP/Linux's modules: cubic.initial_ssthresh:1000
#   duration=S seed=N sample=S
#
# Prints one line of JSON on stderr: for each flow the payload bytes acknowledged, the packets that the bottleneck dropped or
# the error model destroyed, the timeouts, and cwnd_ in packets at 0, sample, 2 sample .. (0 before the flow's start)

array set opt {
    agent Linux module reno rate 10 rtt 50 limit 61 per 0 flows 1 stagger 0 start 0 jitter 0 duration 60 seed 1 sample 0.1 options 0
    rival {} bind {} param {}
}
foreach pair $argv {
    lassign [split $pair =] key value
    if {![info exists opt($key)]} { puts stderr "pair.tcl: unknown key $key"; exit 2 }
    set opt($key) $value
}
# Small seeds give small first draws of both generators; so they are spread.
expr {srand(7919 * $opt(seed) + 104729)}
for {set i 0} {$i < 10} {incr i} { expr {rand()} }
$defaultRNG seed [expr {7919 * $opt(seed) + 104729}]

# 1000 bytes of payload, 1040 on the wire. The window is never the limit. Clock ticks of 1 ms, as TCP/Linux has in any case.
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 2
Agent/TCP set tcpTick_ 0.001
Agent/TCP set minrto_ 0.2
# Timestamps are read by TCP/Linux only, and take no room unless asked to: a packet is as large as with the other agents.
Agent/TCP set ts_option_size_ $opt(options)

foreach one [split $opt(bind) ,] {
    if {![regexp {^([A-Za-z0-9/]+)\.([A-Za-z0-9_]+):([-+.A-Za-z0-9]+)$} $one all class variable value]} {
        puts stderr "pair.tcl: bind is $one; allowed: CLASS.VARIABLE:VALUE"; exit 2
    }
    $class set $variable $value
}
set params {}
foreach one [split $opt(param) ,] {
    if {![regexp {^([a-z0-9]+)\.([a-z0-9_]+):([-0-9]+)$} $one all module name value]} {
        puts stderr "pair.tcl: param is $one; allowed: MODULE.NAME:INTEGER"; exit 2
    }
    lappend params "$module $name $value"
}

set ns [new Simulator]
set access_ms 1.0
set middle_ms [expr {$opt(rtt) / 2.0 - 2 * $access_ms}]
set r1 [$ns node]
set r2 [$ns node]
$ns duplex-link $r1 $r2 $opt(rate)Mb ${middle_ms}ms DropTail
$ns queue-limit $r1 $r2 $opt(limit)
$ns queue-limit $r2 $r1 100000
set monitor [$ns makeflowmon Fid]
$ns attach-fmon [$ns link $r1 $r2] $monitor

for {set fid 1} {$fid <= $opt(flows)} {incr fid} {
    set s [$ns node]
    set d [$ns node]
    $ns duplex-link $s $r1 1000Mb ${access_ms}ms DropTail
    $ns duplex-link $r2 $d 1000Mb ${access_ms}ms DropTail
    foreach {from to} [list $s $r1 $r1 $s $r2 $d $d $r2] { $ns queue-limit $from $to 100000 }
    if {$opt(per) > 0} {
        set errors [new ErrorModel]
        $errors unit pkt
        $errors set rate_ $opt(per)
        $ns link-lossmodel $errors $r2 $d
        set destroyed($fid) [new Agent/LossMonitor]
        $errors drop-target $destroyed($fid)
    }
    # A sink of the kind that the agent expects: with SACK where it reads SACK blocks.
    switch $opt(agent) {
        Linux { set tcp [new Agent/TCP/Linux]; set sink [new Agent/TCPSink/Sack1]; $tcp set timestamps_ true }
        Tahoe { set tcp [new Agent/TCP]; set sink [new Agent/TCPSink] }
        Sack1 - Fack { set tcp [new Agent/TCP/$opt(agent)]; set sink [new Agent/TCPSink/Sack1] }
        Vegas {
            # It counts no headers, so they are added here.
            set tcp [new Agent/TCP/Vegas]; set sink [new Agent/TCPSink]; $tcp set packetSize_ 1040
        }
        default { set tcp [new Agent/TCP/$opt(agent)]; set sink [new Agent/TCPSink] }
    }
    $tcp set fid_ $fid
    $ns attach-agent $s $tcp
    $ns attach-agent $d $sink
    $ns connect $tcp $sink
    if {$opt(agent) eq "Linux"} {
        set module [expr {$fid == 2 && $opt(rival) ne "" ? $opt(rival) : $opt(module)}]
        foreach one $params { $ns at 0 "$tcp set_ca_default_param $one" }
        $ns at 0 "$tcp select_ca $module"
    }
    set source [new Application/FTP]
    $source attach-agent $tcp
    set begins($fid) [expr {$opt(start) + ($fid - 1) * $opt(stagger) + $opt(jitter) * rand()}]
    $ns at $begins($fid) "$source start"
    set sender($fid) $tcp
    set trace($fid) {}
}

proc sample {k} {
    global ns opt sender begins trace
    for {set fid 1} {$fid <= $opt(flows)} {incr fid} {
        lappend trace($fid) [expr {[$ns now] < $begins($fid) ? 0 : [format %.6g [$sender($fid) set cwnd_]]}]
    }
    incr k
    set next [expr {$k * $opt(sample)}]
    if {$next < $opt(duration)} { $ns at $next "sample $k" }
}

proc finish {} {
    global opt monitor sender trace destroyed
    for {set fid 1} {$fid <= $opt(flows)} {incr fid} { set dropped($fid) 0 }
    foreach flow [$monitor flows] {
        set dropped([$flow set flowid_]) [expr {int([$flow set pdrops_])}]
    }
    set flows {}
    for {set fid 1} {$fid <= $opt(flows)} {incr fid} {
        set lost $dropped($fid)
        if {[info exists destroyed($fid)]} { incr lost [expr {int([$destroyed($fid) set npkts_])}] }
        # ack_ is the highest number acknowledged; packet 0 is the SYN and carries no data.
        set delivered [expr {max(0, int([$sender($fid) set ack_])) * 1000}]
        lappend flows "{\"delivered_bytes\": $delivered, \"lost_packets\": $lost,\
            \"timeouts\": [expr {int([$sender($fid) set nrexmit_])}], \"cwnd\": \[[join $trace($fid) ,]\]}"
    }
    puts stderr "{\"version\": \"[ns-version]\", \"flows\": \[[join $flows {, }]\]}"
    exit 0
}
$ns at 0 "sample 0"
$ns at $opt(duration) finish
$ns run
