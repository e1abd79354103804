import { completeCommand } from "./tree.ts";

/** The names under which npm installs the program (`bin` in package.json). Other programs are called `vault`, too. */
export const programNames = ["vault", "vaultsvc"] as const;

/** Completion script for bash 3.2 (macOS) and newer: no mapfile, and compopt only where it exists. */
const bashScript = ([name, other]: readonly [string, string]): string => `# shellcheck shell=bash
# Completion of ${name} and ${other} for bash: eval "$(${name} completion bash)"
# Generated (npm run generate). It asks the program, which looks into its state and never calls the service.

_${other}_complete() {
  local line=\${COMP_LINE:0:COMP_POINT} index piece trimmed mark start reply directive candidate name
  local before='' quotes=$'["\\'\\\\\\\\]' words=() given meanings=() width=0
  COMPREPLY=()
  compopt +o default 2>/dev/null

  # Readline splits at = : @ too: what has no space between is one word.
  for ((index = 0; index <= COMP_CWORD; index++)); do
    piece=\${COMP_WORDS[index]}
    trimmed=\${line#"\${line%%[![:space:]]*}"}
    if ((index == COMP_CWORD)); then piece=$trimmed; fi
    if ((index == 0)) || [[ $trimmed != "$line" ]]; then
      words+=("$piece")
    else
      words[\${#words[@]} - 1]+=$piece
    fi
    line=\${trimmed#"$piece"}
  done

  given=("\${words[@]:1}")
  reply=$("\${1/#\\~\\//$HOME/}" ${completeCommand} "\${given[@]//$quotes/}" 2>/dev/null </dev/null) || return 0
  directive=\${reply##*$'\\n'}
  case $directive in
    :done*) ;;
    :nospace*) compopt -o nospace 2>/dev/null ;;
    :files*@) ;;
    :files*) compopt -o default 2>/dev/null ;;
    :directories*) compopt -o dirnames 2>/dev/null ;;
    :programs*)
      compopt -o default 2>/dev/null
      while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -c -- "\${words[\${#words[@]} - 1]}")
      return 0
      ;;
    *) return 0 ;;
  esac

  # Readline replaces what stands behind the last = or :, and from the last @ on.
  piece=\${words[\${#words[@]} - 1]}
  for mark in = : @; do
    start=\${piece%"\${piece##*"$mark"}"}
    if [[ $mark == @ ]]; then start=\${start%@}; fi
    if [[ $COMP_WORDBREAKS == *"$mark"* ]] && ((\${#start} > \${#before})); then before=$start; fi
  done

  if [[ $directive == :files*@ ]]; then
    start=\${directive#:files }
    name=\${piece#"$start"}
    start=\${start#"$before"}
    while IFS= read -r candidate; do
      if [[ -d $candidate ]]; then
        candidate+=/
        compopt -o nospace 2>/dev/null
      fi
      printf -v candidate %q "$candidate"
      COMPREPLY+=("$start$candidate")
    done < <(compgen -f -- "\${name//$quotes/}")
    return 0
  fi
  while IFS= read -r candidate; do
    if [[ $candidate == :* ]]; then break; fi
    piece=''
    if [[ $candidate == *$'\\t'* ]]; then piece=\${candidate#*$'\\t'}; fi
    meanings+=("$piece")
    candidate=\${candidate%%$'\\t'*}
    candidate=\${candidate#"$before"}
    # Within quotes, Readline takes it as it is.
    if [[ \${words[\${#words[@]} - 1]} != [\\"\\']* && $candidate == *[!a-zA-Z0-9_.,/:=@+-]* ]]; then
      printf -v candidate %q "$candidate"
    fi
    COMPREPLY+=("$candidate")
    if ((\${#candidate} > width)); then width=\${#candidate}; fi
  done <<<"$reply"

  # A list that is shown (! ? @, which bash 3.2 does not tell) has meanings. Before them the words differ: none is inserted.
  case \${COMP_TYPE-} in 33 | 63 | 64) ;; *) return 0 ;; esac
  if ((\${#COMPREPLY[@]} < 2)); then return 0; fi
  for index in "\${!COMPREPLY[@]}"; do
    if [[ -z \${meanings[index]} ]]; then continue; fi
    candidate=\${COMPREPLY[index]}
    printf -v piece '%*s' $((width - \${#candidate})) ''
    COMPREPLY[index]="$candidate$piece  -- \${meanings[index]}"
  done
  return 0
}

complete -o default -F _${other}_complete ${other}
# Another program of this name that completes itself is left alone.
if [[ $(complete -p ${name} 2>/dev/null) != *" -C "* ]]; then complete -o default -F _${other}_complete ${name}; fi
`;

/** Completion script for zsh, found by compinit as _vault or evaluated after it. */
const zshScript = ([name, other]: readonly [string, string]): string => `#compdef ${name} ${other}
# Completion of ${name} and ${other} for zsh: as _${name} in a folder of $fpath, or eval "$(${name} completion zsh)" after compinit.
# Generated (npm run generate). It asks the program, which looks into its state and never calls the service.

_${name}() {
  local reply directive line start tab=$'\\t'
  local program=\${\${(Q)words[1]}/#\\~\\//$HOME/}
  local -a lines values shown add
  local -i width=0

  reply=$($program ${completeCommand} "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null </dev/null) || return 1
  lines=("\${(@f)reply}")
  directive=$lines[-1]
  lines[-1]=()
  case $directive in
    :done*) ;;
    :nospace*) add=(-S '') ;;
    :programs*)
      _command_names -e
      return
      ;;
    :files* | :directories*)
      start=\${directive#:(files|directories)}
      start=\${start# }
      compset -p \${#start} || return 1
      if [[ $directive == :files* ]]; then _files; else _path_files -/; fi
      return
      ;;
    *) return 1 ;;
  esac

  for line in $lines; do
    values+=("\${line%%$tab*}")
    if (( \${#values[-1]} > width )); then width=\${#values[-1]}; fi
  done
  for line in $lines; do
    if [[ $line == *$tab* ]]; then
      shown+=("\${(r:width:)\${line%%$tab*}}  -- \${line#*$tab}")
    else
      shown+=("$line")
    fi
  done
  (( $#values )) || return 1
  compadd -l -V ${name} "\${add[@]}" -d shown -a values
}

if [[ $funcstack[1] == _${name} ]]; then
  _${name} "$@"
elif (( $+functions[compdef] )); then
  compdef _${name} ${other}
  # Another program of this name that completes itself is left alone.
  if [[ $_comps[${name}] != *' -C '* ]]; then compdef _${name} ${name}; fi
fi
`;

/** Completion script for fish 3 and newer. */
const fishScript = ([name, other]: readonly [
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
        case ':programs*'
            complete -C "$current"
            return
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

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** Returns what `vault completion SHELL` prints. */
export const script = (shell: keyof typeof scripts): string => scripts[shell](programNames);
/** Files in completions/ that hold the scripts. */
export const scriptFiles = {
  bash: "vault.bash",
  zsh: "_vault",
  fish: "vault.fish",
} as const satisfies Record<keyof typeof scripts, string>;
