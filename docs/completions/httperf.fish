# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_httperf_global_optspecs
    string join \n server= server-name= servers= port= uri= unix-socket= connect-to= all-addresses proxy= proxy-tunnel rate= period= runtime= warmup= drain= until= client= spin duration= concurrency= pipeline= call-pause= request-rate= request-period= per-connection max-open= threads= num-conns= num-calls= burst-length= wlog= wset= wsess= wsesslog= wsesspage= session-cookies failure-status= retry-on-failure max-connections= max-piped-calls= method= http-version= add-header= add-header-file= no-host-hdr body= body-file= form= header= basic-auth= bearer= targets= compressed expect-status= expect-size= expect-body-hash= streams= h2c-upgrade h2-window= h2-connection-window= h2-header-table= h2-max-frame= ssl ssl-ciphers= ssl-no-reuse ssl-certificate= ssl-key= ssl-verify= ssl-ca-file= ssl-ca-path= ssl-protocol= tls-server-name= tls-groups= tls-min= tls-max= tls-sigalgs= tls-alpn= tls-keylog= tls-resume= tls-early-data tls-handshake-only tls-cert-compression= timeout= think-timeout= send-buffer= recv-buffer= close-with-reset hog myaddr= system-buffers tcp-nodelay= tcp-fastopen tos= dscp= exemplars= split= clock= kernel-sends= record= slo= abort-on-slo output= html= csv= hgrm= junit= calls= interval-log= strict report= quiet live print-reply= print-request= print-lifetimes n/periodic-stats v/verbose h/help V/version d/debug= use-timer-cache
end

function __fish_httperf_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_httperf_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_httperf_using_subcommand
    set -l cmd (__fish_httperf_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c httperf -n "__fish_httperf_needs_command" -l server -d 'connects to this host name or address' -r -f -a "(__fish_print_hostnames)"
complete -c httperf -n "__fish_httperf_needs_command" -l server-name -d 'sends this name in the Host line' -r -f -a "(__fish_print_hostnames)"
complete -c httperf -n "__fish_httperf_needs_command" -l servers -d 'connects to the servers named in a file, in turn' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l port -d 'connects to this port' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l uri -d 'asks for this URI' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l unix-socket -d 'connects to this unix-domain socket instead of a TCP port' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l connect-to -d 'connects to another address in place of a server\'s' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l proxy -d 'sends requests through this HTTP proxy' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l rate -d 'starts X connections or sessions per second, whatever the server does' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l period -d 'spaces the starts by this distribution of intervals, in seconds' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l runtime -d 'ends the run after X seconds, as an interrupt would' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l warmup -d 'offers load for X seconds before it is measured' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l drain -d 'lets what is under way end in the X seconds after --runtime' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l until -d 'ends the run as soon as a percentile of the latency is known to S percent' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l client -d 'is the I-th (from 0) of N generators that work together' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l duration -d 'offers load for X seconds, as many connections and calls as that takes' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l concurrency -d 'keeps N connections busy, each sending its next call when the last reply is in' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l pipeline -d 'keeps up to N calls outstanding on each connection of a closed loop or a pool' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l call-pause -d 'thinks for X seconds between a reply and the next call of a connection' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l request-rate -d 'offers X calls per second over connections that are kept, whatever the server does' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l request-period -d 'spaces calls over kept connections by this distribution of intervals, in seconds' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l max-open -d 'has no more than N connections open; arrivals beyond wait for one to end' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l threads -d 'shares the work among N threads, each tied to a processor' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l num-conns -d 'makes N connections' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l num-calls -d 'makes N calls on each connection' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l burst-length -d 'sends calls in bursts of N, back to back' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l wlog -d 'takes URIs from a file, one after the other' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l wset -d 'walks over a set of N generated URIs, moving on with probability X' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l wsess -d 'runs N1 sessions of N2 calls each, with X seconds between bursts' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l wsesslog -d 'runs N sessions described in a file, with X seconds between bursts' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l wsesspage -d 'runs N1 sessions of N2 pages each with what is embedded in them, X seconds apart' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l failure-status -d 'lets a reply with status N fail its session' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l max-connections -d 'lets a session use at most N connections at once' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l max-piped-calls -d 'lets a session have at most N unanswered calls on each connection' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l method -d 'uses this request method' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l http-version -d 'speaks HTTP/1.0, HTTP/1.1 or HTTP/2' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l add-header -d 'adds these header lines to each request' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l add-header-file -d 'adds the header lines in a file to each request' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l body -d 'sends this body with each request' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l body-file -d 'sends what is in a file as the body of each request' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l form -d 'sends a field of a form with each request; may be given more than once' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l header -d 'adds a header field to each request; may be given more than once' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l basic-auth -d 'names the user with a password (Authorization: Basic)' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l bearer -d 'names the user with a token (Authorization: Bearer)' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l targets -d 'takes whole requests from a file, one after the other: method, URL, header, body' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l expect-status -d 'counts replies of other statuses as unexpected' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l expect-size -d 'counts replies with bodies of other sizes as unexpected' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l expect-body-hash -d 'counts replies with bodies of another SHA-256 as unexpected' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l streams -d 'keeps up to N calls outstanding on each connection of a closed loop or a pool' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l h2-window -d 'lets the server send so many bytes of a reply before it hears that more are welcome' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l h2-connection-window -d 'lets the server send so many bytes of all replies of a connection together' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l h2-header-table -d 'lets the server remember so many bytes of header fields, to refer to them later (HPACK)' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l h2-max-frame -d 'lets the server send frames of up to so many bytes' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l ssl-ciphers -d 'offers these cipher suites of TLS 1.2 and older, a list in OpenSSL\'s syntax' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l ssl-certificate -d 'shows this certificate to a server that asks for one' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l ssl-key -d 'uses this private key with --ssl-certificate' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l ssl-verify -d 'checks the server\'s certificate' -r -f -a "yes\t''
no\t''"
complete -c httperf -n "__fish_httperf_needs_command" -l ssl-ca-file -d 'trusts the certificates in this file, in PEM, beside the system\'s' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l ssl-ca-path -d 'trusts the certificates in the files of this directory, in PEM, beside the system\'s' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l ssl-protocol -d 'speaks this version of TLS and no other' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l tls-server-name -d 'calls the server by this name in TLS' -r -f -a "(__fish_print_hostnames)"
complete -c httperf -n "__fish_httperf_needs_command" -l tls-groups -d 'offers these key-exchange groups, most preferred first; `help` lists them' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l tls-min -d 'offers no version of TLS older than this: 1.0, 1.1, 1.2 or 1.3' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l tls-max -d 'offers no version of TLS newer than this: 1.0, 1.1, 1.2 or 1.3' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l tls-sigalgs -d 'takes these algorithms for the server\'s signature, most preferred first' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l tls-alpn -d 'offers these application protocols (ALPN), most preferred first' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l tls-keylog -d 'appends the secrets of TLS sessions to this file, for tools that decrypt captures' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l tls-resume -d 'makes this share of the connections resume an earlier TLS session' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l tls-cert-compression -d 'lets the server compress its certificate: zlib, brotli, or both' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l timeout -d 'gives the server X seconds to connect, to take a request, and to reply' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l think-timeout -d 'gives the server X more seconds for its reply' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l send-buffer -d 'asks for send buffers of N bytes' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l recv-buffer -d 'asks for receive buffers of N bytes' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l myaddr -d 'binds connections to these local addresses, in turn' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l tcp-nodelay -d 'sends small segments at once (TCP_NODELAY)' -r -f -a "yes\t''
no\t''"
complete -c httperf -n "__fish_httperf_needs_command" -l tos -d 'marks packets with this type of service, or traffic class in IPv6' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l dscp -d 'marks packets with this differentiated-services code point' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l exemplars -d 'keeps the N slowest calls, with where their time went' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l split -d 'tells calls apart by request target, or by the status of the reply' -r -f -a "uri\t''
status\t''"
complete -c httperf -n "__fish_httperf_needs_command" -l clock -d 'ends replies when the program finds them, or when the kernel received them' -r -f -a "program\t''
kernel\t''"
complete -c httperf -n "__fish_httperf_needs_command" -l kernel-sends -d 'reports every Nth call from the kernel\'s sending the request to its receiving the reply' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l record -d 'records all there is to know of a run, or what the classic report shows' -r -f -a "classic\t''
full\t''"
complete -c httperf -n "__fish_httperf_needs_command" -l slo -d 'says what the server is to keep to, such as \'p99<50ms, errors<0.1%\'' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l output -d 'writes the result as a JSON document, to be rendered, merged or run again' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l html -d 'writes the result as a page with charts, in one file that needs no network' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l csv -d 'appends a row of figures to a CSV file' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l hgrm -d 'writes the distribution of the latency, in ms, for HdrHistogram\'s plotters' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l junit -d 'writes objectives and verdict as JUnit XML, for systems that show results of tests' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l calls -d 'writes a row of CSV for each call as it ends' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l interval-log -d 'writes a line of JSON to a file for each second of the run' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l report -d 'prints the classic report or the full one' -r -f -a "auto\t''
classic\t''
full\t''"
complete -c httperf -n "__fish_httperf_needs_command" -l print-reply -d 'prints replies as they arrive' -r -f -a "header\t''
body\t''"
complete -c httperf -n "__fish_httperf_needs_command" -l print-request -d 'prints requests as they are sent' -r -f -a "header\t''
body\t''"
complete -c httperf -n "__fish_httperf_needs_command" -s d -l debug -d 'does nothing but say what to use instead' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l all-addresses -d 'connects to all addresses of a server\'s name in turn, not only to the first'
complete -c httperf -n "__fish_httperf_needs_command" -l proxy-tunnel -d 'asks the proxy for tunnels (CONNECT) even without TLS'
complete -c httperf -n "__fish_httperf_needs_command" -l spin -d 'polls through the last stretch before a start instead of sleeping'
complete -c httperf -n "__fish_httperf_needs_command" -l per-connection -d 'gives each connection a schedule of its own, every N-th call of --request-rate'
complete -c httperf -n "__fish_httperf_needs_command" -l session-cookies -d 'keeps the cookies that a session is given and sends them back'
complete -c httperf -n "__fish_httperf_needs_command" -l retry-on-failure -d 'lets a session try a failed call again'
complete -c httperf -n "__fish_httperf_needs_command" -l no-host-hdr -d 'leaves out the Host line'
complete -c httperf -n "__fish_httperf_needs_command" -l compressed -d 'asks for compressed replies, and decompresses them to count and to check them'
complete -c httperf -n "__fish_httperf_needs_command" -l h2c-upgrade -d 'asks for HTTP/2 in the clear with the first request of each connection (Upgrade: h2c)'
complete -c httperf -n "__fish_httperf_needs_command" -l ssl -d 'speaks TLS with the server'
complete -c httperf -n "__fish_httperf_needs_command" -l ssl-no-reuse -d 'makes a full handshake for every connection of a session'
complete -c httperf -n "__fish_httperf_needs_command" -l tls-early-data -d 'sends requests with the first flight of resumed handshakes (0-RTT)'
complete -c httperf -n "__fish_httperf_needs_command" -l tls-handshake-only -d 'connects, makes the handshake and closes, without a call'
complete -c httperf -n "__fish_httperf_needs_command" -l close-with-reset -d 'closes connections with a TCP reset'
complete -c httperf -n "__fish_httperf_needs_command" -l hog -d 'uses all local ports from 1024, not only those the kernel hands out'
complete -c httperf -n "__fish_httperf_needs_command" -l system-buffers -d 'leaves the sizes of socket buffers to the kernel'
complete -c httperf -n "__fish_httperf_needs_command" -l tcp-fastopen -d 'sends the first bytes with the SYN, to servers that allow it (TCP Fast Open)'
complete -c httperf -n "__fish_httperf_needs_command" -l abort-on-slo -d 'ends the run when it has missed an objective for three seconds in a row'
complete -c httperf -n "__fish_httperf_needs_command" -l strict -d 'exits with status 2 if the run is SUSPECT, and 3 if it is INVALID'
complete -c httperf -n "__fish_httperf_needs_command" -l quiet -d 'says nothing on standard error but errors'
complete -c httperf -n "__fish_httperf_needs_command" -l live -d 'shows the run on the whole screen while it goes on'
complete -c httperf -n "__fish_httperf_needs_command" -l print-lifetimes -d 'prints the lifetime of each connection'
complete -c httperf -n "__fish_httperf_needs_command" -s n -l periodic-stats -d 'prints the number of replies with status 200 and 302 each second'
complete -c httperf -n "__fish_httperf_needs_command" -s v -l verbose -d 'says more; may be repeated'
complete -c httperf -n "__fish_httperf_needs_command" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_needs_command" -s V -l version -d 'prints the version and exits'
complete -c httperf -n "__fish_httperf_needs_command" -l use-timer-cache -d 'does nothing; accepted for old scripts'
complete -c httperf -n "__fish_httperf_needs_command" -a "sweep" -d 'Makes a run at each of many rates, and finds the one at which the server falls behind.'
complete -c httperf -n "__fish_httperf_needs_command" -a "capacity" -d 'Finds the highest rate that a server sustains within objectives, by trials.'
complete -c httperf -n "__fish_httperf_needs_command" -a "compare" -d 'Compares results with a base: what is better, what is worse, and what cannot be told.'
complete -c httperf -n "__fish_httperf_needs_command" -a "ab" -d 'Compares two targets, or two sets of options, in trials that take turns, so that drift cancels.'
complete -c httperf -n "__fish_httperf_needs_command" -a "serve" -d 'Serves HTTP for tests, as quick, slow or faulty as asked, and prints what it did when stopped.'
complete -c httperf -n "__fish_httperf_needs_command" -a "tls-lab" -d 'Compares what TLS handshakes cost with different key-exchange groups, ciphers and resumption.'
complete -c httperf -n "__fish_httperf_needs_command" -a "doctor" -d 'Looks for what on this machine would spoil a measurement, and names the command that mends it.'
complete -c httperf -n "__fish_httperf_needs_command" -a "self-check" -d 'Measures how exact this machine\'s measurements are, and how much load it can offer.'
complete -c httperf -n "__fish_httperf_needs_command" -a "report" -d 'Renders results again that --output has written.'
complete -c httperf -n "__fish_httperf_needs_command" -a "plot" -d 'Draws results that --output has written, as SVG or PNG.'
complete -c httperf -n "__fish_httperf_needs_command" -a "merge" -d 'Adds up results of generators that worked together, exactly.'
complete -c httperf -n "__fish_httperf_needs_command" -a "rerun" -d 'Runs the plan of a result again: the same requests at the same times.'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l rates -d 'makes a run at each of these rates of connections, or of sessions, per second' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l request-rates -d 'makes a run at each of these rates of calls per second, over connections that are kept' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l repeats -d 'makes N runs at each rate' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l order -d 'makes the runs by rising rates, or in random order' -r -f -a "rising\t''
random\t''"
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l seed -d 'starts the random numbers behind --order=random from N' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l stop-after -d 'leaves out the rates above N in a row that the server could not keep up with' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l pause -d 'waits for X seconds between two runs at least' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l settle -d 'then waits until server and local ports have recovered, for X seconds at most' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l output -d 'writes the sweep as a JSON document after each run' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l resume -d 'goes on with the sweep in a file that --output has written' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l csv -d 'writes a row of figures for each run to a CSV file' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l tsv -d 'writes the same with tabs between the values' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l html -d 'writes the sweep as a page with charts, in one file that needs no network' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l svg -d 'draws reply rate, errors and response time over the offered load, as SVG' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l png -d 'draws the same as PNG' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l junit -d 'writes the objectives and the verdict of each run as JUnit XML, for CI systems' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l format -d 'prints the sweep in this form when it is over' -r -f -a "table\t''
tsv\t''
csv\t''
json\t''"
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l server -d 'connects to this host name or address' -r -f -a "(__fish_print_hostnames)"
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l server-name -d 'sends this name in the Host line' -r -f -a "(__fish_print_hostnames)"
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l servers -d 'connects to the servers named in a file, in turn' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l port -d 'connects to this port' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l uri -d 'asks for this URI' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l unix-socket -d 'connects to this unix-domain socket instead of a TCP port' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l connect-to -d 'connects to another address in place of a server\'s' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l proxy -d 'sends requests through this HTTP proxy' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l rate -d 'starts X connections or sessions per second, whatever the server does' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l period -d 'spaces the starts by this distribution of intervals, in seconds' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l runtime -d 'ends the run after X seconds, as an interrupt would' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l warmup -d 'offers load for X seconds before it is measured' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l drain -d 'lets what is under way end in the X seconds after --runtime' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l until -d 'ends the run as soon as a percentile of the latency is known to S percent' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l client -d 'is the I-th (from 0) of N generators that work together' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l duration -d 'offers load for X seconds, as many connections and calls as that takes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l concurrency -d 'keeps N connections busy, each sending its next call when the last reply is in' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l pipeline -d 'keeps up to N calls outstanding on each connection of a closed loop or a pool' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l call-pause -d 'thinks for X seconds between a reply and the next call of a connection' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l request-rate -d 'offers X calls per second over connections that are kept, whatever the server does' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l request-period -d 'spaces calls over kept connections by this distribution of intervals, in seconds' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l max-open -d 'has no more than N connections open; arrivals beyond wait for one to end' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l threads -d 'shares the work among N threads, each tied to a processor' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l num-conns -d 'makes N connections' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l num-calls -d 'makes N calls on each connection' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l burst-length -d 'sends calls in bursts of N, back to back' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l wlog -d 'takes URIs from a file, one after the other' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l wset -d 'walks over a set of N generated URIs, moving on with probability X' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l wsess -d 'runs N1 sessions of N2 calls each, with X seconds between bursts' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l wsesslog -d 'runs N sessions described in a file, with X seconds between bursts' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l wsesspage -d 'runs N1 sessions of N2 pages each with what is embedded in them, X seconds apart' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l failure-status -d 'lets a reply with status N fail its session' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l max-connections -d 'lets a session use at most N connections at once' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l max-piped-calls -d 'lets a session have at most N unanswered calls on each connection' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l method -d 'uses this request method' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l http-version -d 'speaks HTTP/1.0, HTTP/1.1 or HTTP/2' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l add-header -d 'adds these header lines to each request' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l add-header-file -d 'adds the header lines in a file to each request' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l body -d 'sends this body with each request' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l body-file -d 'sends what is in a file as the body of each request' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l form -d 'sends a field of a form with each request; may be given more than once' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l header -d 'adds a header field to each request; may be given more than once' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l basic-auth -d 'names the user with a password (Authorization: Basic)' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l bearer -d 'names the user with a token (Authorization: Bearer)' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l targets -d 'takes whole requests from a file, one after the other: method, URL, header, body' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l expect-status -d 'counts replies of other statuses as unexpected' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l expect-size -d 'counts replies with bodies of other sizes as unexpected' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l expect-body-hash -d 'counts replies with bodies of another SHA-256 as unexpected' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l streams -d 'keeps up to N calls outstanding on each connection of a closed loop or a pool' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l h2-window -d 'lets the server send so many bytes of a reply before it hears that more are welcome' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l h2-connection-window -d 'lets the server send so many bytes of all replies of a connection together' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l h2-header-table -d 'lets the server remember so many bytes of header fields, to refer to them later (HPACK)' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l h2-max-frame -d 'lets the server send frames of up to so many bytes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l ssl-ciphers -d 'offers these cipher suites of TLS 1.2 and older, a list in OpenSSL\'s syntax' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l ssl-certificate -d 'shows this certificate to a server that asks for one' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l ssl-key -d 'uses this private key with --ssl-certificate' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l ssl-verify -d 'checks the server\'s certificate' -r -f -a "yes\t''
no\t''"
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l ssl-ca-file -d 'trusts the certificates in this file, in PEM, beside the system\'s' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l ssl-ca-path -d 'trusts the certificates in the files of this directory, in PEM, beside the system\'s' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l ssl-protocol -d 'speaks this version of TLS and no other' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l tls-server-name -d 'calls the server by this name in TLS' -r -f -a "(__fish_print_hostnames)"
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l tls-groups -d 'offers these key-exchange groups, most preferred first; `help` lists them' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l tls-min -d 'offers no version of TLS older than this: 1.0, 1.1, 1.2 or 1.3' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l tls-max -d 'offers no version of TLS newer than this: 1.0, 1.1, 1.2 or 1.3' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l tls-sigalgs -d 'takes these algorithms for the server\'s signature, most preferred first' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l tls-alpn -d 'offers these application protocols (ALPN), most preferred first' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l tls-keylog -d 'appends the secrets of TLS sessions to this file, for tools that decrypt captures' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l tls-resume -d 'makes this share of the connections resume an earlier TLS session' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l tls-cert-compression -d 'lets the server compress its certificate: zlib, brotli, or both' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l timeout -d 'gives the server X seconds to connect, to take a request, and to reply' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l think-timeout -d 'gives the server X more seconds for its reply' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l send-buffer -d 'asks for send buffers of N bytes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l recv-buffer -d 'asks for receive buffers of N bytes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l myaddr -d 'binds connections to these local addresses, in turn' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l tcp-nodelay -d 'sends small segments at once (TCP_NODELAY)' -r -f -a "yes\t''
no\t''"
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l tos -d 'marks packets with this type of service, or traffic class in IPv6' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l dscp -d 'marks packets with this differentiated-services code point' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l exemplars -d 'keeps the N slowest calls, with where their time went' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l split -d 'tells calls apart by request target, or by the status of the reply' -r -f -a "uri\t''
status\t''"
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l clock -d 'ends replies when the program finds them, or when the kernel received them' -r -f -a "program\t''
kernel\t''"
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l kernel-sends -d 'reports every Nth call from the kernel\'s sending the request to its receiving the reply' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l record -d 'records all there is to know of a run, or what the classic report shows' -r -f -a "classic\t''
full\t''"
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l slo -d 'says what the server is to keep to, such as \'p99<50ms, errors<0.1%\'' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l strict -d 'exits with status 2 if a run is SUSPECT, and 3 if one is INVALID'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l quiet -d 'says nothing on standard error but errors'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l all-addresses -d 'connects to all addresses of a server\'s name in turn, not only to the first'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l proxy-tunnel -d 'asks the proxy for tunnels (CONNECT) even without TLS'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l spin -d 'polls through the last stretch before a start instead of sleeping'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l per-connection -d 'gives each connection a schedule of its own, every N-th call of --request-rate'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l session-cookies -d 'keeps the cookies that a session is given and sends them back'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l retry-on-failure -d 'lets a session try a failed call again'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l no-host-hdr -d 'leaves out the Host line'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l compressed -d 'asks for compressed replies, and decompresses them to count and to check them'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l h2c-upgrade -d 'asks for HTTP/2 in the clear with the first request of each connection (Upgrade: h2c)'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l ssl -d 'speaks TLS with the server'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l ssl-no-reuse -d 'makes a full handshake for every connection of a session'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l tls-early-data -d 'sends requests with the first flight of resumed handshakes (0-RTT)'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l tls-handshake-only -d 'connects, makes the handshake and closes, without a call'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l close-with-reset -d 'closes connections with a TCP reset'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l hog -d 'uses all local ports from 1024, not only those the kernel hands out'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l system-buffers -d 'leaves the sizes of socket buffers to the kernel'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l tcp-fastopen -d 'sends the first bytes with the SYN, to servers that allow it (TCP Fast Open)'
complete -c httperf -n "__fish_httperf_using_subcommand sweep" -l abort-on-slo -d 'ends the run when it has missed an objective for three seconds in a row'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l slo -d 'is what the server is to keep to, such as \'p99<50ms, errors<0.1%\'; required' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l search -d 'looks for a rate of connections or sessions, or of calls over kept connections' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l start -d 'makes the first trial at this rate per second' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l min-rate -d 'tries no lower rate; if that is too high, the exit status is 4' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l max-rate -d 'tries no higher rate, and ends if that is sustained' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l precision -d 'ends when the 95 % interval reaches no further than P % to either side' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l trials -d 'makes N trials at most' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l trial-min -d 'measures the first trials for X seconds, or longer if they need it' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l trial-max -d 'measures no trial for longer than X seconds' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l pause -d 'waits X seconds between two trials' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l output -d 'writes that document to a file, anew after each trial' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l server -d 'connects to this host name or address' -r -f -a "(__fish_print_hostnames)"
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l server-name -d 'sends this name in the Host line' -r -f -a "(__fish_print_hostnames)"
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l servers -d 'connects to the servers named in a file, in turn' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l port -d 'connects to this port' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l uri -d 'asks for this URI' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l unix-socket -d 'connects to this unix-domain socket instead of a TCP port' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l connect-to -d 'connects to another address in place of a server\'s' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l proxy -d 'sends requests through this HTTP proxy' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l rate -d 'starts X connections or sessions per second, whatever the server does' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l period -d 'spaces the starts by this distribution of intervals, in seconds' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l runtime -d 'ends the run after X seconds, as an interrupt would' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l warmup -d 'offers load for X seconds before it is measured' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l drain -d 'lets what is under way end in the X seconds after --runtime' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l until -d 'ends the run as soon as a percentile of the latency is known to S percent' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l client -d 'is the I-th (from 0) of N generators that work together' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l duration -d 'offers load for X seconds, as many connections and calls as that takes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l concurrency -d 'keeps N connections busy, each sending its next call when the last reply is in' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l pipeline -d 'keeps up to N calls outstanding on each connection of a closed loop or a pool' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l call-pause -d 'thinks for X seconds between a reply and the next call of a connection' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l request-rate -d 'offers X calls per second over connections that are kept, whatever the server does' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l request-period -d 'spaces calls over kept connections by this distribution of intervals, in seconds' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l max-open -d 'has no more than N connections open; arrivals beyond wait for one to end' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l threads -d 'shares the work among N threads, each tied to a processor' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l num-conns -d 'makes N connections' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l num-calls -d 'makes N calls on each connection' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l burst-length -d 'sends calls in bursts of N, back to back' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l wlog -d 'takes URIs from a file, one after the other' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l wset -d 'walks over a set of N generated URIs, moving on with probability X' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l wsess -d 'runs N1 sessions of N2 calls each, with X seconds between bursts' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l wsesslog -d 'runs N sessions described in a file, with X seconds between bursts' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l wsesspage -d 'runs N1 sessions of N2 pages each with what is embedded in them, X seconds apart' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l failure-status -d 'lets a reply with status N fail its session' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l max-connections -d 'lets a session use at most N connections at once' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l max-piped-calls -d 'lets a session have at most N unanswered calls on each connection' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l method -d 'uses this request method' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l http-version -d 'speaks HTTP/1.0, HTTP/1.1 or HTTP/2' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l add-header -d 'adds these header lines to each request' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l add-header-file -d 'adds the header lines in a file to each request' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l body -d 'sends this body with each request' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l body-file -d 'sends what is in a file as the body of each request' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l form -d 'sends a field of a form with each request; may be given more than once' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l header -d 'adds a header field to each request; may be given more than once' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l basic-auth -d 'names the user with a password (Authorization: Basic)' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l bearer -d 'names the user with a token (Authorization: Bearer)' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l targets -d 'takes whole requests from a file, one after the other: method, URL, header, body' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l expect-status -d 'counts replies of other statuses as unexpected' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l expect-size -d 'counts replies with bodies of other sizes as unexpected' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l expect-body-hash -d 'counts replies with bodies of another SHA-256 as unexpected' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l streams -d 'keeps up to N calls outstanding on each connection of a closed loop or a pool' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l h2-window -d 'lets the server send so many bytes of a reply before it hears that more are welcome' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l h2-connection-window -d 'lets the server send so many bytes of all replies of a connection together' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l h2-header-table -d 'lets the server remember so many bytes of header fields, to refer to them later (HPACK)' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l h2-max-frame -d 'lets the server send frames of up to so many bytes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l ssl-ciphers -d 'offers these cipher suites of TLS 1.2 and older, a list in OpenSSL\'s syntax' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l ssl-certificate -d 'shows this certificate to a server that asks for one' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l ssl-key -d 'uses this private key with --ssl-certificate' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l ssl-verify -d 'checks the server\'s certificate' -r -f -a "yes\t''
no\t''"
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l ssl-ca-file -d 'trusts the certificates in this file, in PEM, beside the system\'s' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l ssl-ca-path -d 'trusts the certificates in the files of this directory, in PEM, beside the system\'s' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l ssl-protocol -d 'speaks this version of TLS and no other' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l tls-server-name -d 'calls the server by this name in TLS' -r -f -a "(__fish_print_hostnames)"
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l tls-groups -d 'offers these key-exchange groups, most preferred first; `help` lists them' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l tls-min -d 'offers no version of TLS older than this: 1.0, 1.1, 1.2 or 1.3' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l tls-max -d 'offers no version of TLS newer than this: 1.0, 1.1, 1.2 or 1.3' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l tls-sigalgs -d 'takes these algorithms for the server\'s signature, most preferred first' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l tls-alpn -d 'offers these application protocols (ALPN), most preferred first' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l tls-keylog -d 'appends the secrets of TLS sessions to this file, for tools that decrypt captures' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l tls-resume -d 'makes this share of the connections resume an earlier TLS session' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l tls-cert-compression -d 'lets the server compress its certificate: zlib, brotli, or both' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l timeout -d 'gives the server X seconds to connect, to take a request, and to reply' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l think-timeout -d 'gives the server X more seconds for its reply' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l send-buffer -d 'asks for send buffers of N bytes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l recv-buffer -d 'asks for receive buffers of N bytes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l myaddr -d 'binds connections to these local addresses, in turn' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l tcp-nodelay -d 'sends small segments at once (TCP_NODELAY)' -r -f -a "yes\t''
no\t''"
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l tos -d 'marks packets with this type of service, or traffic class in IPv6' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l dscp -d 'marks packets with this differentiated-services code point' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l exemplars -d 'keeps the N slowest calls, with where their time went' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l split -d 'tells calls apart by request target, or by the status of the reply' -r -f -a "uri\t''
status\t''"
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l clock -d 'ends replies when the program finds them, or when the kernel received them' -r -f -a "program\t''
kernel\t''"
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l kernel-sends -d 'reports every Nth call from the kernel\'s sending the request to its receiving the reply' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l record -d 'records all there is to know of a run, or what the classic report shows' -r -f -a "classic\t''
full\t''"
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l json -d 'prints the figure with all trials as a JSON document'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l quiet -d 'says nothing on stderr but errors'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l all-addresses -d 'connects to all addresses of a server\'s name in turn, not only to the first'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l proxy-tunnel -d 'asks the proxy for tunnels (CONNECT) even without TLS'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l spin -d 'polls through the last stretch before a start instead of sleeping'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l per-connection -d 'gives each connection a schedule of its own, every N-th call of --request-rate'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l session-cookies -d 'keeps the cookies that a session is given and sends them back'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l retry-on-failure -d 'lets a session try a failed call again'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l no-host-hdr -d 'leaves out the Host line'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l compressed -d 'asks for compressed replies, and decompresses them to count and to check them'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l h2c-upgrade -d 'asks for HTTP/2 in the clear with the first request of each connection (Upgrade: h2c)'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l ssl -d 'speaks TLS with the server'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l ssl-no-reuse -d 'makes a full handshake for every connection of a session'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l tls-early-data -d 'sends requests with the first flight of resumed handshakes (0-RTT)'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l tls-handshake-only -d 'connects, makes the handshake and closes, without a call'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l close-with-reset -d 'closes connections with a TCP reset'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l hog -d 'uses all local ports from 1024, not only those the kernel hands out'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l system-buffers -d 'leaves the sizes of socket buffers to the kernel'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l tcp-fastopen -d 'sends the first bytes with the SYN, to servers that allow it (TCP Fast Open)'
complete -c httperf -n "__fish_httperf_using_subcommand capacity" -l abort-on-slo -d 'ends the run when it has missed an objective for three seconds in a row'
complete -c httperf -n "__fish_httperf_using_subcommand compare" -l format -d 'prints the comparison in this form' -r -f -a "text\t''
markdown\t''
json\t''
html\t''
junit\t''"
complete -c httperf -n "__fish_httperf_using_subcommand compare" -l fail-if -d 'exits with status 1 if a figure changed by more than this, such as p99>+5%' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand compare" -l force -d 'compares even what is not comparable'
complete -c httperf -n "__fish_httperf_using_subcommand compare" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l a -d 'options of a run for side A alone, as a shell would split them' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l b -d 'options of a run for side B alone' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l rounds -d 'makes N rounds, each with one trial of both sides in random order' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l trial -d 'measures X seconds in each trial' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l warmup -d 'offers load for X seconds before each trial measures' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l drain -d 'lets what is under way at the end of a trial end for up to X seconds' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l pause -d 'waits X seconds before each trial but the first' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l seed -d 'starts the random order of the trials from N' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l format -d 'prints the comparison in this form' -r -f -a "text\t''
markdown\t''
json\t''
html\t''
junit\t''"
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l output -d 'writes the comparison as a JSON document to a file as well' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l fail-if -d 'exits with status 1 if a figure changed by more than this, such as p99>+5%' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l server -d 'connects to this host name or address' -r -f -a "(__fish_print_hostnames)"
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l server-name -d 'sends this name in the Host line' -r -f -a "(__fish_print_hostnames)"
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l servers -d 'connects to the servers named in a file, in turn' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l port -d 'connects to this port' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l uri -d 'asks for this URI' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l unix-socket -d 'connects to this unix-domain socket instead of a TCP port' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l connect-to -d 'connects to another address in place of a server\'s' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l proxy -d 'sends requests through this HTTP proxy' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l rate -d 'starts X connections or sessions per second, whatever the server does' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l period -d 'spaces the starts by this distribution of intervals, in seconds' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l runtime -d 'ends the run after X seconds, as an interrupt would' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l until -d 'ends the run as soon as a percentile of the latency is known to S percent' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l client -d 'is the I-th (from 0) of N generators that work together' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l duration -d 'offers load for X seconds, as many connections and calls as that takes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l concurrency -d 'keeps N connections busy, each sending its next call when the last reply is in' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l pipeline -d 'keeps up to N calls outstanding on each connection of a closed loop or a pool' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l call-pause -d 'thinks for X seconds between a reply and the next call of a connection' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l request-rate -d 'offers X calls per second over connections that are kept, whatever the server does' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l request-period -d 'spaces calls over kept connections by this distribution of intervals, in seconds' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l max-open -d 'has no more than N connections open; arrivals beyond wait for one to end' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l threads -d 'shares the work among N threads, each tied to a processor' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l num-conns -d 'makes N connections' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l num-calls -d 'makes N calls on each connection' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l burst-length -d 'sends calls in bursts of N, back to back' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l wlog -d 'takes URIs from a file, one after the other' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l wset -d 'walks over a set of N generated URIs, moving on with probability X' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l wsess -d 'runs N1 sessions of N2 calls each, with X seconds between bursts' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l wsesslog -d 'runs N sessions described in a file, with X seconds between bursts' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l wsesspage -d 'runs N1 sessions of N2 pages each with what is embedded in them, X seconds apart' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l failure-status -d 'lets a reply with status N fail its session' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l max-connections -d 'lets a session use at most N connections at once' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l max-piped-calls -d 'lets a session have at most N unanswered calls on each connection' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l method -d 'uses this request method' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l http-version -d 'speaks HTTP/1.0, HTTP/1.1 or HTTP/2' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l add-header -d 'adds these header lines to each request' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l add-header-file -d 'adds the header lines in a file to each request' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l body -d 'sends this body with each request' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l body-file -d 'sends what is in a file as the body of each request' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l form -d 'sends a field of a form with each request; may be given more than once' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l header -d 'adds a header field to each request; may be given more than once' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l basic-auth -d 'names the user with a password (Authorization: Basic)' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l bearer -d 'names the user with a token (Authorization: Bearer)' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l targets -d 'takes whole requests from a file, one after the other: method, URL, header, body' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l expect-status -d 'counts replies of other statuses as unexpected' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l expect-size -d 'counts replies with bodies of other sizes as unexpected' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l expect-body-hash -d 'counts replies with bodies of another SHA-256 as unexpected' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l streams -d 'keeps up to N calls outstanding on each connection of a closed loop or a pool' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l h2-window -d 'lets the server send so many bytes of a reply before it hears that more are welcome' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l h2-connection-window -d 'lets the server send so many bytes of all replies of a connection together' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l h2-header-table -d 'lets the server remember so many bytes of header fields, to refer to them later (HPACK)' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l h2-max-frame -d 'lets the server send frames of up to so many bytes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l ssl-ciphers -d 'offers these cipher suites of TLS 1.2 and older, a list in OpenSSL\'s syntax' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l ssl-certificate -d 'shows this certificate to a server that asks for one' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l ssl-key -d 'uses this private key with --ssl-certificate' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l ssl-verify -d 'checks the server\'s certificate' -r -f -a "yes\t''
no\t''"
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l ssl-ca-file -d 'trusts the certificates in this file, in PEM, beside the system\'s' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l ssl-ca-path -d 'trusts the certificates in the files of this directory, in PEM, beside the system\'s' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l ssl-protocol -d 'speaks this version of TLS and no other' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l tls-server-name -d 'calls the server by this name in TLS' -r -f -a "(__fish_print_hostnames)"
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l tls-groups -d 'offers these key-exchange groups, most preferred first; `help` lists them' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l tls-min -d 'offers no version of TLS older than this: 1.0, 1.1, 1.2 or 1.3' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l tls-max -d 'offers no version of TLS newer than this: 1.0, 1.1, 1.2 or 1.3' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l tls-sigalgs -d 'takes these algorithms for the server\'s signature, most preferred first' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l tls-alpn -d 'offers these application protocols (ALPN), most preferred first' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l tls-keylog -d 'appends the secrets of TLS sessions to this file, for tools that decrypt captures' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l tls-resume -d 'makes this share of the connections resume an earlier TLS session' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l tls-cert-compression -d 'lets the server compress its certificate: zlib, brotli, or both' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l timeout -d 'gives the server X seconds to connect, to take a request, and to reply' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l think-timeout -d 'gives the server X more seconds for its reply' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l send-buffer -d 'asks for send buffers of N bytes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l recv-buffer -d 'asks for receive buffers of N bytes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l myaddr -d 'binds connections to these local addresses, in turn' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l tcp-nodelay -d 'sends small segments at once (TCP_NODELAY)' -r -f -a "yes\t''
no\t''"
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l tos -d 'marks packets with this type of service, or traffic class in IPv6' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l dscp -d 'marks packets with this differentiated-services code point' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l exemplars -d 'keeps the N slowest calls, with where their time went' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l split -d 'tells calls apart by request target, or by the status of the reply' -r -f -a "uri\t''
status\t''"
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l clock -d 'ends replies when the program finds them, or when the kernel received them' -r -f -a "program\t''
kernel\t''"
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l kernel-sends -d 'reports every Nth call from the kernel\'s sending the request to its receiving the reply' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l record -d 'records all there is to know of a run, or what the classic report shows' -r -f -a "classic\t''
full\t''"
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l slo -d 'says what the server is to keep to, such as \'p99<50ms, errors<0.1%\'' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l force -d 'tells what there is to tell even if most rounds are left out'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l all-addresses -d 'connects to all addresses of a server\'s name in turn, not only to the first'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l proxy-tunnel -d 'asks the proxy for tunnels (CONNECT) even without TLS'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l spin -d 'polls through the last stretch before a start instead of sleeping'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l per-connection -d 'gives each connection a schedule of its own, every N-th call of --request-rate'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l session-cookies -d 'keeps the cookies that a session is given and sends them back'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l retry-on-failure -d 'lets a session try a failed call again'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l no-host-hdr -d 'leaves out the Host line'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l compressed -d 'asks for compressed replies, and decompresses them to count and to check them'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l h2c-upgrade -d 'asks for HTTP/2 in the clear with the first request of each connection (Upgrade: h2c)'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l ssl -d 'speaks TLS with the server'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l ssl-no-reuse -d 'makes a full handshake for every connection of a session'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l tls-early-data -d 'sends requests with the first flight of resumed handshakes (0-RTT)'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l tls-handshake-only -d 'connects, makes the handshake and closes, without a call'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l close-with-reset -d 'closes connections with a TCP reset'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l hog -d 'uses all local ports from 1024, not only those the kernel hands out'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l system-buffers -d 'leaves the sizes of socket buffers to the kernel'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l tcp-fastopen -d 'sends the first bytes with the SYN, to servers that allow it (TCP Fast Open)'
complete -c httperf -n "__fish_httperf_using_subcommand ab" -l abort-on-slo -d 'ends the run when it has missed an objective for three seconds in a row'
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l size -d 'answers with a body of N bytes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l status -d 'answers with this status, or with a mix such as 200:95,503:5' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l delay -d 'waits for T before each reply: a duration or a distribution' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l capacity -d 'manages X replies per second; requests beyond that wait in order of arrival' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l queue -d 'lets N requests wait for --capacity and answers others 503 at once' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l listen -d 'listens on this address, or on unix:PATH for a unix-domain socket' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l close-after -d 'closes a connection with its Nth reply, which says so' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l close-silently -d 'closes a connection after its Nth reply without having said so' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l max-connections -d 'holds N connections at most and resets others as they come' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l idle-timeout -d 'closes a connection on which nothing moves for T' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-key-type -d 'makes the certificate with a key of this type' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-cert -d 'shows the certificate in this file instead of making one' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-cert-key -d 'uses the private key in this file with --tls-cert' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-write-cert -d 'writes the certificate to this file, for clients to trust' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-groups -d 'accepts these key-exchange groups and no others' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-min -d 'accepts no version of TLS older than this: 1.0, 1.1, 1.2 or 1.3' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-max -d 'accepts no version of TLS newer than this: 1.0, 1.1, 1.2 or 1.3' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-ciphers -d 'accepts these cipher suites of TLS 1.2 and older, a list in OpenSSL\'s syntax' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-tickets -d 'says whether clients get tickets to resume their sessions with' -r -f -a "on\t''
off\t''"
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-cert-compression -d 'compresses the certificate for clients that can take that: zlib, brotli or both' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l h2-window -d 'lets clients send N bytes of a request\'s body ahead on each stream' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l h2-connection-window -d 'lets clients send N bytes of bodies ahead on all streams of a connection together' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l h2-max-streams -d 'lets clients have N streams open at once on a connection' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l h2-max-frame -d 'lets clients send frames of up to N bytes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l h2-header-table -d 'lets clients compress headers by a table of N bytes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l fault -d 'lets replies go wrong by chance, as in reset:0.01 or stall:2%; may be repeated' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l trickle-interval -d 'waits for T between two bytes of a reply that trickles' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l seed -d 'starts the random numbers behind delays, statuses and faults from N' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l chunked -d 'sends bodies in chunks instead of stating their size'
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l trailers -d 'sends bodies in chunks, followed by a Server-Checksum trailer'
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls -d 'speaks TLS on every connection, with a certificate made at start'
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-early-data -d 'accepts requests with the first flight of resumed handshakes (0-RTT)'
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-request-client-cert -d 'asks clients for a certificate, and goes on without one'
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-require-client-cert -d 'asks clients for a certificate, and fails the handshake without one'
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l no-http2 -d 'speaks HTTP/1 alone'
complete -c httperf -n "__fish_httperf_using_subcommand serve" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_using_subcommand tls-lab" -l groups -d 'measures each of these key-exchange groups, alone, with TLS 1.2 or 1.3' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand tls-lab" -l ciphers -d 'measures each of these cipher suites as well, alone, with TLS 1.2' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand tls-lab" -l rounds -d 'makes N rounds, each with one trial of each variant, in an order that changes' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand tls-lab" -l handshakes -d 'makes N handshakes in each trial, one after the other' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand tls-lab" -l rate-handshakes -d 'makes N more handshakes in each trial, several at once, for the sustained rate' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand tls-lab" -l concurrency -d 'keeps N of the --rate-handshakes going at once' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand tls-lab" -l seed -d 'starts the random order of the trials from N' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand tls-lab" -l timeout -d 'gives a connect, and then its handshake, this long: a duration such as 500ms' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand tls-lab" -l tls-server-name -d 'calls the server by this name in TLS' -r -f -a "(__fish_print_hostnames)"
complete -c httperf -n "__fish_httperf_using_subcommand tls-lab" -l ssl-ca-file -d 'trusts the certificates in this file, in PEM, beside the system\'s' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand tls-lab" -l resume -d 'measures each variant with resumed sessions as well'
complete -c httperf -n "__fish_httperf_using_subcommand tls-lab" -l ssl-verify -d 'checks the server\'s certificate, which is part of what a handshake costs'
complete -c httperf -n "__fish_httperf_using_subcommand tls-lab" -l csv -d 'prints CSV instead of the table: a line for each variant'
complete -c httperf -n "__fish_httperf_using_subcommand tls-lab" -l json -d 'prints JSON instead of the table, with the figures of each round'
complete -c httperf -n "__fish_httperf_using_subcommand tls-lab" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_using_subcommand doctor" -l rate -d 'looks whether the machine can open this many connections per second' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand doctor" -l connections -d 'looks whether the machine can hold this many connections at once' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand doctor" -l myaddr -d 'takes connections to come from these local addresses, in turn' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand doctor" -l all-addresses -d 'takes connections to go to all addresses of the server\'s name, in turn'
complete -c httperf -n "__fish_httperf_using_subcommand doctor" -l hog -d 'takes all local ports from 1024 to be used, not only those the kernel hands out'
complete -c httperf -n "__fish_httperf_using_subcommand doctor" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_using_subcommand self-check" -l rate -d 'looks how exactly X arrivals per second keep their schedule; may be repeated' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand self-check" -l quick -d 'takes some 20 seconds instead of a minute'
complete -c httperf -n "__fish_httperf_using_subcommand self-check" -l json -d 'prints JSON instead of a table'
complete -c httperf -n "__fish_httperf_using_subcommand self-check" -l no-store -d 'does not keep the results'
complete -c httperf -n "__fish_httperf_using_subcommand self-check" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_using_subcommand report" -l format -d 'renders the result in this form' -r -f -a "text\t''
html\t''
csv\t''
hgrm\t''
json\t''"
complete -c httperf -n "__fish_httperf_using_subcommand report" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_using_subcommand plot" -l what -d 'draws this of the files' -r -f -a "percentiles\t''
timeline\t''
sweep\t''
compare\t''"
complete -c httperf -n "__fish_httperf_using_subcommand plot" -l theme -d 'draws dark on white, or light on nearly black' -r -f -a "light\t''
dark\t''"
complete -c httperf -n "__fish_httperf_using_subcommand plot" -l width -d 'makes the picture so wide, from 300 to 4000' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand plot" -l height -d 'makes the picture so high, from 300 to 4000' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand plot" -l output -d 'writes the picture to a file instead of standard output' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand plot" -l format -d 'writes the picture in this form' -r -f -a "svg\t''
png\t''"
complete -c httperf -n "__fish_httperf_using_subcommand plot" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_using_subcommand merge" -l output -d 'writes the sum to a file instead of standard output' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand merge" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l output -d 'writes the result as a JSON document, to be rendered, merged or run again' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l html -d 'writes the result as a page with charts, in one file that needs no network' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l csv -d 'appends a row of figures to a CSV file' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l hgrm -d 'writes the distribution of the latency, in ms, for HdrHistogram\'s plotters' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l junit -d 'writes objectives and verdict as JUnit XML, for systems that show results of tests' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l calls -d 'writes a row of CSV for each call as it ends' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l interval-log -d 'writes a line of JSON to a file for each second of the run' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l report -d 'prints the classic report or the full one' -r -f -a "auto\t''
classic\t''
full\t''"
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l strict -d 'exits with status 2 if the run is SUSPECT, and 3 if it is INVALID'
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l quiet -d 'says nothing on standard error but errors'
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l live -d 'shows the run on the whole screen while it goes on'
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -s h -l help -d 'explains the options and exits'
