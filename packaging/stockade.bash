# SPDX-License-Identifier: Apache-2.0
# bash completion for stockade(1)

_stockade() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local verb=${COMP_WORDS[1]} i
	local statements="--read --write --show --hide --guard --cache --env --allow
		--ask --deny --reach --via --secret --roots --device --publish
		--limit --profile --client --workspace --terminal --keep
		--syscalls --debug --isolation"

	# `takes` is in profiles only.
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "run check policy trust log
			runs caches diff apply discard secret doctor --help --version" -- "$cur")
		return
	fi
	# Behind `--` stands another program's command line.
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "$verb" = run ] && [ "${COMP_WORDS[i]}" = -- ]; then
			COMP_WORDS=("${COMP_WORDS[@]:i + 1}")
			COMP_CWORD=$((COMP_CWORD - i - 1))
			if [ "$COMP_CWORD" = 0 ]; then
				mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			else
				mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			fi
			return
		fi
	done
	case $prev in
	--policy|--read|--write|--show|--hide|--guard|--cache|--roots)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	--profile)
		mapfile -t COMPREPLY < <(compgen -W "claude codex gemini-cli
			opencode npm pypi crates go debian maven rubygems docker
			github-read gitlab-read github-write gitlab-write
			anthropic openai gemini openrouter" -- "$cur")
		return ;;
	--client)
		mapfile -t COMPREPLY < <(compgen -W "npm apt" -- "$cur")
		return ;;
	--env)
		mapfile -t COMPREPLY < <(compgen -W "pass set" -- "$cur")
		return ;;
	--device)
		mapfile -t COMPREPLY < <(compgen -W "gpu kvm fuse" -- "$cur"
			compgen -f -- "$cur")
		return ;;
	--limit)
		mapfile -t COMPREPLY < <(compgen -W "time memory swap \
			processes cpu io files file-size disk output
			workspace workspace-files record" -- "$cur")
		return ;;
	--workspace)
		mapfile -t COMPREPLY < <(compgen -W "direct overlay" -- "$cur")
		return ;;
	--terminal)
		mapfile -t COMPREPLY < <(compgen -W "exact filter" -- "$cur")
		return ;;
	--syscalls)
		# To doctor it is a flag without a value.
		if [ "$verb" != doctor ]; then
			mapfile -t COMPREPLY < <(compgen -W "strict" -- "$cur"
				compgen -f -- "$cur")
			return
		fi ;;
	--debug)
		mapfile -t COMPREPLY < <(compgen -W "on" -- "$cur")
		return ;;
	--isolation)
		mapfile -t COMPREPLY < <(compgen -W "native" -- "$cur")
		return ;;
	--keep)
		mapfile -t COMPREPLY < <(compgen -W "$(_stockade_kept)" -- "$cur")
		return ;;
	esac
	case $verb in
	run) i="--policy --explain --json $statements --" ;;
	check) i="--policy --json --explain $statements" ;;
	policy) i="--policy --json $statements" ;;
	log) i="verify --denied --follow --json $(_stockade_runs)" ;;
	runs) i="--json" ;;
	doctor) i="--json --policy $statements" ;;
	caches) i="--json remove --all" ;;
	diff) i="--patch --json $(_stockade_held)" ;;
	apply) i="--guarded $(_stockade_held)" ;;
	discard) i="$(_stockade_held)" ;;
	secret)
		i=
		[ "$COMP_CWORD" = 2 ] &&
			i="set list remove unlock lock revoke"
		case $COMP_CWORD,${COMP_WORDS[2]} in
		3,list) i=--json ;;
		3,unlock) i=--for ;;
		3,set | 3,remove) i=$(stockade secret list 2>/dev/null) ;;
		4,revoke) i=$(_stockade_asked) ;;
		esac ;;
	trust) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	*) return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$i" -- "$cur")
}

_stockade_held() {
	local state=${XDG_STATE_HOME:-$HOME/.local/state}

	(cd "$state/stockade/held" 2>/dev/null && printf '%s ' *)
}

_stockade_kept() {
	local state=${XDG_STATE_HOME:-$HOME/.local/state}

	(cd "$state/stockade/held" 2>/dev/null && printf '%s ' [A-Za-z]*)
}

_stockade_asked() {
	local state=${XDG_STATE_HOME:-$HOME/.local/state}

	(cd "$state/stockade/control" 2>/dev/null && printf '%s ' [0-9]*)
}

_stockade_runs() {
	local state=${XDG_STATE_HOME:-$HOME/.local/state}

	(cd "$state/stockade/runs" 2>/dev/null && printf '%s ' *)
}

complete -o filenames -F _stockade stockade
