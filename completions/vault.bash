# shellcheck shell=bash
# Completion of vault and vaultsvc for bash: eval "$(vault completion bash)"
# It asks the program, which looks into its state and never calls the service.

_vaultsvc_complete() {
  local line=${COMP_LINE:0:COMP_POINT} index piece trimmed mark start reply directive candidate name
  local before='' quotes=$'["\'\\\\]' words=() given meanings=() width=0
  COMPREPLY=()
  compopt +o default 2>/dev/null

  # Readline splits at = : @ too: what has no space between is one word.
  for ((index = 0; index <= COMP_CWORD; index++)); do
    piece=${COMP_WORDS[index]}
    trimmed=${line#"${line%%[![:space:]]*}"}
    if ((index == COMP_CWORD)); then piece=$trimmed; fi
    if ((index == 0)) || [[ $trimmed != "$line" ]]; then
      words+=("$piece")
    else
      words[${#words[@]} - 1]+=$piece
    fi
    line=${trimmed#"$piece"}
  done

  given=("${words[@]:1}")
  reply=$("${1/#\~\//$HOME/}" __complete "${given[@]//$quotes/}" 2>/dev/null </dev/null) || return 0
  directive=${reply##*$'\n'}
  case $directive in
    :done*) ;;
    :nospace*) compopt -o nospace 2>/dev/null ;;
    :files*@) ;;
    :files*) compopt -o default 2>/dev/null ;;
    :directories*) compopt -o dirnames 2>/dev/null ;;
    :programs*)
      compopt -o default 2>/dev/null
      while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -c -- "${words[${#words[@]} - 1]}")
      return 0
      ;;
    *) return 0 ;;
  esac

  # Readline replaces what stands behind the last = or :, and from the last @ on.
  piece=${words[${#words[@]} - 1]}
  for mark in = : @; do
    start=${piece%"${piece##*"$mark"}"}
    if [[ $mark == @ ]]; then start=${start%@}; fi
    if [[ $COMP_WORDBREAKS == *"$mark"* ]] && ((${#start} > ${#before})); then before=$start; fi
  done

  if [[ $directive == :files*@ ]]; then
    start=${directive#:files }
    name=${piece#"$start"}
    start=${start#"$before"}
    while IFS= read -r candidate; do
      if [[ -d $candidate ]]; then
        candidate+=/
        compopt -o nospace 2>/dev/null
      fi
      printf -v candidate %q "$candidate"
      COMPREPLY+=("$start$candidate")
    done < <(compgen -f -- "${name//$quotes/}")
    return 0
  fi
  while IFS= read -r candidate; do
    if [[ $candidate == :* ]]; then break; fi
    piece=''
    if [[ $candidate == *$'\t'* ]]; then piece=${candidate#*$'\t'}; fi
    candidate=${candidate%%$'\t'*}
    candidate=${candidate#"$before"}
    # Within quotes, Readline takes it as it is: what would end them, or be run, is not offered.
    case ${words[${#words[@]} - 1]} in
      \"*) if [[ $candidate == *[\"\$\`\\!]* ]]; then continue; fi ;;
      \'*) if [[ $candidate == *\'* ]]; then continue; fi ;;
      *) if [[ $candidate == *[!a-zA-Z0-9_.,/:=@+-]* ]]; then printf -v candidate %q "$candidate"; fi ;;
    esac
    COMPREPLY+=("$candidate")
    meanings+=("$piece")
    if ((${#candidate} > width)); then width=${#candidate}; fi
  done <<<"$reply"

  # A list that is shown (! ? @, which bash 3.2 does not tell) has meanings. Before them the words differ: none is inserted.
  case ${COMP_TYPE-} in 33 | 63 | 64) ;; *) return 0 ;; esac
  if ((${#COMPREPLY[@]} < 2)); then return 0; fi
  for index in "${!COMPREPLY[@]}"; do
    if [[ -z ${meanings[index]} ]]; then continue; fi
    candidate=${COMPREPLY[index]}
    printf -v piece '%*s' $((width - ${#candidate})) ''
    piece="$candidate$piece  -- ${meanings[index]}"
    COMPREPLY[index]=${piece:0:${COLUMNS:-80}}
  done
}

complete -o default -F _vaultsvc_complete vaultsvc
# Another program of this name that completes itself is left alone.
if [[ $(complete -p vault 2>/dev/null) != *" -C "* ]]; then complete -o default -F _vaultsvc_complete vault; fi
