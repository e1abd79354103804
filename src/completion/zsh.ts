import { completeCommand } from "./protocol.ts";

/** Completion script for zsh, found by compinit as _vault or evaluated after it. */
export const zshScript = ([name, other]: readonly [
  string,
  string,
]): string => `#compdef ${name} ${other}
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
