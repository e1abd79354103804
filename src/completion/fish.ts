import { completeCommand } from "./protocol.ts";

/** Completion script for fish 3 and newer. */
export const fishScript = ([name, other]: readonly [
  string,
  string,
]): string => `# Completion of ${name} and ${other} for fish: ${name} completion fish | source
# Generated (npm run generate). It asks the program, which looks into its state and never calls the service.

function __${other}_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    set -e words[1]
    set -l reply ($program ${completeCommand} $words "$current" 2>/dev/null </dev/null)
    or return 1
    set -l directive $reply[-1]
    set -e reply[-1]
    switch "$directive"
        case ':files*' ':directories*'
            set -l start (string replace -r '^:\\w+ ?' '' -- $directive)
            set -l path (string sub -s (math (string length -- "$start") + 1) -- "$current")
            if string match -q ':files*' -- $directive
                set reply (__fish_complete_path "$path")
            else
                set reply (__fish_complete_directories "$path")
            end
            set reply $start$reply
        case ''
            return 1
    end
    test -n "$reply"
    and printf '%s\\n' $reply
end

complete -c ${name} -c ${other} -k -f -a '(__${other}_complete)'
`;
