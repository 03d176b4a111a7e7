# SPDX-License-Identifier: Apache-2.0
# fish completion for stockade(1)

complete -c stockade -f
complete -c stockade -n __fish_use_subcommand -l version -d 'print the version'
complete -c stockade -n __fish_use_subcommand -a run -d 'run a command inside the boundary'
complete -c stockade -n __fish_use_subcommand -a check -d 'does the policy permit it?'
complete -c stockade -n __fish_use_subcommand -a policy -d 'the effective policy'
complete -c stockade -n __fish_use_subcommand -a trust -d 'use this policy from now on'
complete -c stockade -n __fish_use_subcommand -a log -d 'what happened in a run'
complete -c stockade -n __fish_use_subcommand -a runs -d 'the runs on record'
complete -c stockade -n __fish_use_subcommand -a caches -d 'the directories that are kept'
complete -c stockade -n __fish_use_subcommand -a diff -d 'the changes that a run holds'
complete -c stockade -n __fish_use_subcommand -a apply -d 'make them on the host'
complete -c stockade -n __fish_use_subcommand -a discard -d 'forget them'
complete -c stockade -n __fish_use_subcommand -a secret -d 'the store of secrets, and those of a run'
complete -c stockade -n __fish_use_subcommand -a doctor -d 'what this machine allows'

set -l takes_policy '__fish_seen_subcommand_from run check policy'
complete -c stockade -n $takes_policy -l policy -r -F -d 'a policy file'
# `takes` is in profiles only.
complete -c stockade -n $takes_policy -l profile -x -a 'claude codex gemini-cli opencode npm pypi crates go debian maven rubygems docker github-read gitlab-read github-write gitlab-write anthropic openai gemini openrouter' -d 'a profile'
complete -c stockade -n $takes_policy -l client -x -a 'npm apt' -d 'what it is configured to use'
for path in read write show hide guard cache roots
    complete -c stockade -n $takes_policy -l $path -r -F
end
complete -c stockade -n $takes_policy -l device -r -F -a 'gpu kvm fuse' -d 'a device of the host'
for rule in env allow ask deny reach via secret publish limit keep
    complete -c stockade -n $takes_policy -l $rule -x
end
complete -c stockade -n $takes_policy -l workspace -x -a 'direct overlay'
complete -c stockade -n $takes_policy -l terminal -x -a 'exact filter'
complete -c stockade -n $takes_policy -l syscalls -r -F -a 'strict' -d 'fewer system calls'
complete -c stockade -n $takes_policy -l debug -x -a 'on'
complete -c stockade -n $takes_policy -l isolation -x -a 'native'
complete -c stockade -n '__fish_seen_subcommand_from diff' -l patch -d 'what differs in files'
complete -c stockade -n '__fish_seen_subcommand_from apply' -l guarded -d 'also what runs something later'
complete -c stockade -n '__fish_seen_subcommand_from run' -l explain -d 'print the plan, run nothing'
complete -c stockade -n '__fish_seen_subcommand_from check' -l explain -d 'rule by rule'
complete -c stockade -n '__fish_seen_subcommand_from run; and contains -- -- (commandline -opc)' -a '(__fish_complete_subcommand)'
complete -c stockade -n '__fish_seen_subcommand_from log' -a verify -d 'check the chain'
complete -c stockade -n '__fish_seen_subcommand_from log' -l denied -d 'refusals only'
complete -c stockade -n '__fish_seen_subcommand_from log' -l follow -d 'until the run has ended'
complete -c stockade -n '__fish_seen_subcommand_from run policy log runs caches diff doctor' -l json
complete -c stockade -n '__fish_seen_subcommand_from doctor' -l syscalls -d 'what becomes of each system call'
complete -c stockade -n '__fish_seen_subcommand_from caches' -a remove -d 'by their keys, or --all'
complete -c stockade -n '__fish_seen_subcommand_from caches' -l all
complete -c stockade -n '__fish_seen_subcommand_from secret; and not __fish_seen_subcommand_from set list remove unlock lock revoke' -a 'set list remove unlock lock revoke'
complete -c stockade -n '__fish_seen_subcommand_from secret; and __fish_seen_subcommand_from set remove' -a '(stockade secret list 2>/dev/null)'
complete -c stockade -n '__fish_seen_subcommand_from secret; and __fish_seen_subcommand_from list' -l json
complete -c stockade -n '__fish_seen_subcommand_from secret; and __fish_seen_subcommand_from unlock' -l for -x -a '1h 8h'
