# Completion of vault and vaultsvc for fish: vault completion fish | source
# It asks the program, which looks into its state and never calls the service.

function __vaultsvc_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    set -e words[1]
    set -l reply ($program __complete $words "$current" 2>/dev/null </dev/null)
    or return 1
    set -l directive $reply[-1]
    set -e reply[-1]
    switch "$directive"
        case ':programs*'
            complete -C "$current"
            return
        case ':files*' ':directories*'
            set -l start (string replace -r '^:\w+ ?' '' -- $directive)
            set -l path (string sub -s (math (string length -- "$start") + 1) -- "$current")
            if string match -q ':files*' -- $directive
                set reply (__fish_complete_path "$path")
            else
                set reply (__fish_complete_directories "$path")
            end
            set reply $start$reply
    end
    test -n "$reply"
    and printf '%s\n' $reply
end

complete -c vault -c vaultsvc -k -f -a '(__vaultsvc_complete)'
