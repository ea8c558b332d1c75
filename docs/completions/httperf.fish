# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_httperf_global_optspecs
    string join \n server= server-name= servers= port= uri= unix-socket= connect-to= all-addresses proxy= proxy-tunnel rate= period= runtime= warmup= drain= until= client= spin duration= concurrency= pipeline= call-pause= request-rate= request-period= per-connection max-open= threads= num-conns= num-calls= burst-length= wlog= wset= wsess= wsesslog= wsesspage= session-cookies failure-status= retry-on-failure max-connections= max-piped-calls= method= http-version= add-header= add-header-file= no-host-hdr body= body-file= form= header= basic-auth= bearer= targets= compressed expect-status= expect-size= expect-body-hash= ssl ssl-ciphers= ssl-no-reuse ssl-certificate= ssl-key= ssl-verify= ssl-ca-file= ssl-ca-path= ssl-protocol= tls-server-name= tls-groups= tls-min= tls-max= tls-sigalgs= tls-alpn= tls-keylog= tls-resume= tls-early-data tls-handshake-only tls-cert-compression= timeout= think-timeout= send-buffer= recv-buffer= close-with-reset hog myaddr= system-buffers tcp-nodelay= tcp-fastopen tos= dscp= output= html= csv= hgrm= calls= interval-log= strict exemplars= split= record= report= quiet live print-reply= print-request= print-lifetimes n/periodic-stats v/verbose h/help V/version d/debug= use-timer-cache
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
complete -c httperf -n "__fish_httperf_needs_command" -l http-version -d 'speaks HTTP/1.0 or HTTP/1.1' -r -f
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
complete -c httperf -n "__fish_httperf_needs_command" -l output -d 'writes the result as a JSON document, to be rendered, merged or run again' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l html -d 'writes the result as a page with charts, in one file that needs no network' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l csv -d 'appends a row of figures to a CSV file' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l hgrm -d 'writes the distribution of the latency, in ms, for HdrHistogram\'s plotters' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l calls -d 'writes a row of CSV for each call as it ends' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l interval-log -d 'writes a line of JSON to a file for each second of the run' -r -F
complete -c httperf -n "__fish_httperf_needs_command" -l exemplars -d 'keeps the N slowest calls, with where their time went' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l split -d 'tells calls apart by request target, or by the status of the reply' -r -f -a "uri\t''
status\t''"
complete -c httperf -n "__fish_httperf_needs_command" -l record -d 'records all there is to know of a run, or what the classic report shows' -r -f -a "classic\t''
full\t''"
complete -c httperf -n "__fish_httperf_needs_command" -l report -d 'prints the classic report or the full one' -r -f -a "auto\t''
classic\t''
full\t''"
complete -c httperf -n "__fish_httperf_needs_command" -l print-reply -d 'prints replies as they arrive' -r -f -a "header\t''
body\t''"
complete -c httperf -n "__fish_httperf_needs_command" -l print-request -d 'prints requests as they are sent' -r -f -a "header\t''
body\t''"
complete -c httperf -n "__fish_httperf_needs_command" -s d -l debug -d 'does nothing but say so' -r -f
complete -c httperf -n "__fish_httperf_needs_command" -l all-addresses -d 'connects to all addresses of a server\'s name in turn, not only to the first'
complete -c httperf -n "__fish_httperf_needs_command" -l proxy-tunnel -d 'asks the proxy for tunnels (CONNECT) even without TLS'
complete -c httperf -n "__fish_httperf_needs_command" -l spin -d 'polls through the last stretch before a start instead of sleeping'
complete -c httperf -n "__fish_httperf_needs_command" -l per-connection -d 'gives each connection a schedule of its own, every N-th call of --request-rate'
complete -c httperf -n "__fish_httperf_needs_command" -l session-cookies -d 'keeps the cookies that a session is given and sends them back'
complete -c httperf -n "__fish_httperf_needs_command" -l retry-on-failure -d 'lets a session try a failed call again'
complete -c httperf -n "__fish_httperf_needs_command" -l no-host-hdr -d 'leaves out the Host line'
complete -c httperf -n "__fish_httperf_needs_command" -l compressed -d 'asks for compressed replies, and decompresses them to count and to check them'
complete -c httperf -n "__fish_httperf_needs_command" -l ssl -d 'speaks TLS with the server'
complete -c httperf -n "__fish_httperf_needs_command" -l ssl-no-reuse -d 'makes a full handshake for every connection of a session'
complete -c httperf -n "__fish_httperf_needs_command" -l tls-early-data -d 'sends requests with the first flight of resumed handshakes (0-RTT)'
complete -c httperf -n "__fish_httperf_needs_command" -l tls-handshake-only -d 'connects, makes the handshake and closes, without a call'
complete -c httperf -n "__fish_httperf_needs_command" -l close-with-reset -d 'closes connections with a TCP reset'
complete -c httperf -n "__fish_httperf_needs_command" -l hog -d 'uses all local ports from 1024, not only those the kernel hands out'
complete -c httperf -n "__fish_httperf_needs_command" -l system-buffers -d 'leaves the sizes of socket buffers to the kernel'
complete -c httperf -n "__fish_httperf_needs_command" -l tcp-fastopen -d 'sends the first bytes with the SYN, to servers that allow it (TCP Fast Open)'
complete -c httperf -n "__fish_httperf_needs_command" -l strict -d 'exits with status 2 if the run is SUSPECT, and 3 if it is INVALID'
complete -c httperf -n "__fish_httperf_needs_command" -l quiet -d 'says nothing on standard error but errors'
complete -c httperf -n "__fish_httperf_needs_command" -l live -d 'shows the run on the whole screen while it goes on'
complete -c httperf -n "__fish_httperf_needs_command" -l print-lifetimes -d 'prints the lifetime of each connection'
complete -c httperf -n "__fish_httperf_needs_command" -s n -l periodic-stats -d 'prints the number of replies with status 200 and 302 each second'
complete -c httperf -n "__fish_httperf_needs_command" -s v -l verbose -d 'says more; may be repeated'
complete -c httperf -n "__fish_httperf_needs_command" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_needs_command" -s V -l version -d 'prints the version and exits'
complete -c httperf -n "__fish_httperf_needs_command" -l use-timer-cache -d 'does nothing; accepted for old scripts'
complete -c httperf -n "__fish_httperf_needs_command" -a "serve" -d 'Serves HTTP for tests, as quick, slow or faulty as asked, and prints what it did when stopped.'
complete -c httperf -n "__fish_httperf_needs_command" -a "tls-lab" -d 'Compares what TLS handshakes cost with different key-exchange groups, ciphers and resumption.'
complete -c httperf -n "__fish_httperf_needs_command" -a "doctor" -d 'Looks for what on this machine would spoil a measurement, and names the command that mends it.'
complete -c httperf -n "__fish_httperf_needs_command" -a "self-check" -d 'Measures how exact this machine\'s measurements are, and how much load it can offer.'
complete -c httperf -n "__fish_httperf_needs_command" -a "report" -d 'Renders results again that --output has written.'
complete -c httperf -n "__fish_httperf_needs_command" -a "merge" -d 'Adds up results of generators that worked together, exactly.'
complete -c httperf -n "__fish_httperf_needs_command" -a "rerun" -d 'Runs the plan of a result again: the same requests at the same times.'
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
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l fault -d 'lets replies go wrong by chance, as in reset:0.01 or stall:2%; may be repeated' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l trickle-interval -d 'waits for T between two bytes of a reply that trickles' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l seed -d 'starts the random numbers behind delays, statuses and faults from N' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l chunked -d 'sends bodies in chunks instead of stating their size'
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l trailers -d 'sends bodies in chunks, followed by a Server-Checksum trailer'
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls -d 'speaks TLS on every connection, with a certificate made at start'
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-early-data -d 'accepts requests with the first flight of resumed handshakes (0-RTT)'
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-request-client-cert -d 'asks clients for a certificate, and goes on without one'
complete -c httperf -n "__fish_httperf_using_subcommand serve" -l tls-require-client-cert -d 'asks clients for a certificate, and fails the handshake without one'
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
complete -c httperf -n "__fish_httperf_using_subcommand self-check" -l quick -d 'takes some 15 seconds instead of a minute'
complete -c httperf -n "__fish_httperf_using_subcommand self-check" -l json -d 'prints JSON instead of a table'
complete -c httperf -n "__fish_httperf_using_subcommand self-check" -l no-store -d 'does not keep the results'
complete -c httperf -n "__fish_httperf_using_subcommand self-check" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_using_subcommand report" -l format -d 'renders the result in this form' -r -f -a "text\t''
html\t''
csv\t''
hgrm\t''
json\t''"
complete -c httperf -n "__fish_httperf_using_subcommand report" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_using_subcommand merge" -l output -d 'writes the sum to a file instead of standard output' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand merge" -s h -l help -d 'explains the options and exits'
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l output -d 'writes the result as a JSON document, to be rendered, merged or run again' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l html -d 'writes the result as a page with charts, in one file that needs no network' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l csv -d 'appends a row of figures to a CSV file' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l hgrm -d 'writes the distribution of the latency, in ms, for HdrHistogram\'s plotters' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l calls -d 'writes a row of CSV for each call as it ends' -r -f
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l interval-log -d 'writes a line of JSON to a file for each second of the run' -r -F
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l report -d 'prints the classic report or the full one' -r -f -a "auto\t''
classic\t''
full\t''"
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l strict -d 'exits with status 2 if the run is SUSPECT, and 3 if it is INVALID'
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l quiet -d 'says nothing on standard error but errors'
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -l live -d 'shows the run on the whole screen while it goes on'
complete -c httperf -n "__fish_httperf_using_subcommand rerun" -s h -l help -d 'explains the options and exits'
