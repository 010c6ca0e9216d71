// completion SHELL: a script for the shell that asks the tool itself what may come next, so that it
// never falls behind the verbs and the catalogue.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/candidates.hpp"
#include "cli/verb.hpp"
#include "tokenroof/io/output_file.hpp"

namespace tokenroof::cli {
namespace {

// What the scripts read: a line that says which paths may stand there as well, then a line for each
// word, a tab between it and its meaning.
constexpr std::string_view bash_script =
    R"~(# Completion of tokenroof for bash: source it, or put it where bash-completion looks.
_tokenroof() {
  local line=${COMP_LINE:0:COMP_POINT} paths found word
  local -a typed
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=("")
  {
    read -r paths
    mapfile -t found
  } < <("$1" completion words -- "${typed[@]:1}" 2>/dev/null)
  # Bash replaces what stands behind the last of = and : only.
  local last=${typed[-1]} current=${COMP_WORDS[COMP_CWORD]} kept
  [[ $current == [=:] ]] && current=
  kept=${last%"$current"}
  COMPREPLY=()
  for word in "${found[@]}"; do
    word=${word%%$'\t'*}
    COMPREPLY+=("${word#"$kept"}")
    [[ $word == *[=.] ]] && compopt -o nospace
  done
  local kind=
  [[ $paths == files ]] && kind=-f
  [[ $paths == folders ]] && kind=-d
  if [[ -n $kind ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen "$kind" -- "$current")
  fi
}
complete -F _tokenroof tokenroof
)~";

constexpr std::string_view zsh_script = R"~(#compdef tokenroof
# Completion of tokenroof for zsh: source it after compinit, or put it as _tokenroof on $fpath.
_tokenroof() {
  local -a lines closed open
  local line word
  lines=("${(@f)$("${words[1]}" completion words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "${(@)lines[2,-1]}"; do
    word=${${line%%$'\t'*}//:/\\:}
    [[ $line == *$'\t'* ]] && line=$word:${line#*$'\t'} || line=$word
    [[ $word == *[=.] ]] && open+=("$line") || closed+=("$line")
  done
  (( $#closed )) && _describe -t words tokenroof closed
  (( $#open )) && _describe -t words tokenroof open -S ''
  case $lines[1] in
    files) _files ;;
    folders) _files -/ ;;
  esac
}
if [[ $funcstack[1] == _tokenroof ]]; then
  _tokenroof "$@"
else
  compdef _tokenroof tokenroof
fi
)~";

constexpr std::string_view fish_script =
    R"~(# Completion of tokenroof for fish: source it, or put it into a completions folder.
function __tokenroof_candidates
  set -l typed (commandline -opc)
  set -l current (commandline -ct | string collect --allow-empty)
  set -l lines ($typed[1] completion words -- $typed[2..-1] "$current" 2>/dev/null)
  switch "$lines[1]"
    case files
      __fish_complete_path "$current"
    case folders
      __fish_complete_directories "$current"
  end
  printf '%s\n' $lines[2..-1]
end
complete -c tokenroof -f -a '(__tokenroof_candidates)'
)~";

struct CompletionOptions {
  std::string shell;
  std::vector<std::string> line;
};

std::string words(const CLI::App& app, const std::vector<std::string>& line,
                  const io::Catalog& data) {
  const Candidates found = candidates(app, line, data);
  std::string text = found.paths == Candidates::Paths::files     ? "files\n"
                     : found.paths == Candidates::Paths::folders ? "folders\n"
                                                                 : "none\n";
  for (const Candidates::Word& word : found.words)
    text += word.text + (word.meaning.empty() ? "" : "\t" + word.meaning) + "\n";
  return text;
}

int run(const CLI::App& app, const Options& options, const CompletionOptions& own) {
  const std::string text = own.shell == "bash"   ? std::string(bash_script)
                           : own.shell == "zsh"  ? std::string(zsh_script)
                           : own.shell == "fish" ? std::string(fish_script)
                                                 : words(app, own.line, catalog(options));
  io::write_file(options.output, text);
  return answered;
}

Action declare(CLI::App& app, Options& options) {
  auto own = std::make_shared<CompletionOptions>();
  app.add_option("SHELL", own->shell, "words: what may end the LINE, as the scripts ask it")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "words"}));
  app.add_option("LINE", own->line, "Words of a command line after the program's name, behind --");
  return [&app, &options, own] { return run(*app.get_parent(), options, *own); };
}

}  // namespace

extern const Verb completion_verb;
const Verb completion_verb{
    "completion", "Completion script for bash, zsh or fish",
    "  source <(tokenroof completion bash)\n"
    "  tokenroof completion zsh -o ~/.zfunc/_tokenroof\n"
    "  tokenroof completion fish -o ~/.config/fish/completions/tokenroof.fish",
    declare, Gives::text};

}  // namespace tokenroof::cli
