// ridge completion SHELL: prints the script that completes ridge's command line in that shell.
#include <CLI/CLI.hpp>
#include <map>

#include "cli/terminal.h"

namespace ridge::cli {
namespace {

// Each asks the program itself, `ridge list-words WORD...` (main.cc), what may follow the words so far: options where
// the word begins with "-", else verbs, or subcommands and files.
constexpr std::string_view kBash = R"(# bash completion of ridge: ridge completion bash
_ridge() {
  local word=${COMP_WORDS[COMP_CWORD]} words
  words=$("${COMP_WORDS[0]}" list-words "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
  [[ $word == -* ]] || words=$(grep -v '^-' <<<"$words")
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o bashdefault -o default -F _ridge ridge
)";

constexpr std::string_view kZsh = R"(#compdef ridge
# zsh completion of ridge: ridge completion zsh
_ridge() {
  local -a found
  found=("${(@f)$("${words[1]}" list-words "${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
  [[ ${words[CURRENT]} == -* ]] || found=("${(@)found:#-*}")
  compadd -- "${found[@]}"
  ((CURRENT == 2)) || [[ ${words[CURRENT]} == -* ]] || _files
}
if [[ ${funcstack[1]} == _ridge ]]; then _ridge "$@"; else compdef _ridge ridge; fi
)";

constexpr std::string_view kFish = R"(# fish completion of ridge: ridge completion fish
function __ridge_words
  set -l words (commandline -opc)
  $words[1] list-words $words[2..-1] 2>/dev/null
end
complete -c ridge -n '__fish_is_first_token' -f
complete -c ridge -a '(__ridge_words)'
)";

}  // namespace

int completion(std::span<const std::string> arguments) {
  const std::map<std::string_view, std::string_view> scripts = {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};
  std::string shell;
  CLI::App app;
  app.add_option("SHELL", shell)->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  if (ParseResult parsed = parse(app, "completion", arguments); !parsed.go_on) return parsed.exit;
  print_verbatim(scripts.at(shell));
  return kDone;
}

}  // namespace ridge::cli
