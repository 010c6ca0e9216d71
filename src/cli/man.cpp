// man: the manual page in roff, from the same declarations as --help.
#include <CLI/CLI.hpp>
#include <map>

#include "cli/verb.hpp"
#include "tokenroof/io/output_file.hpp"

namespace tokenroof::cli {
namespace {

/// Text for roff: backslashes and hyphens as they are, no line that reads as a request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool line_start = out.empty() || out.back() == '\n';
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

class ManualPage {
 public:
  explicit ManualPage(const CLI::App& app) : app_(app) {
    for (const CLI::App* verb : verbs())
      for (const CLI::Option* option : verb->get_options()) ++uses_[identity(*option)];
  }

  std::string text() {
    out_ =
        ".\\\" Made by `tokenroof man`.\n"
        ".TH TOKENROOF 1 \"" TOKENROOF_DATE "\" \"tokenroof " TOKENROOF_VERSION "\"\n";
    section("NAME");
    out_ += "tokenroof \\- cost and performance of language model inference\n";
    section("SYNOPSIS");
    out_ += ".B tokenroof\n.I verb\n.RI [ arguments ]\n.RI [ options ]\n";
    section("DESCRIPTION");
    out_ += roff(app_.get_description()) + "\n";
    section("VERBS");
    for (const CLI::App* verb : verbs()) add_verb(*verb);
    section("COMMON OPTIONS");
    add_common_options();
    section("EXIT STATUS");
    for (const ExitMeaning& one : exit_meanings)
      item("\\fB" + std::to_string(one.exit) + "\\fR", one.meaning);
    section("ENVIRONMENT");
    item("\\fBTOKENROOF_DATA\\fR", "Folder in place of the built-in data, as \\-\\-data names it.");
    item("\\fBNO_COLOR\\fR", "When set, no colour on a terminal.");
    item("\\fBCOLUMNS\\fR", "Width of paragraphs, where it is less than 100.");
    return std::move(out_);
  }

 private:
  std::vector<const CLI::App*> verbs() const {
    return app_.get_subcommands([](const CLI::App*) { return true; });
  }
  static std::string identity(const CLI::Option& option) {
    return option.get_name(true, true) + option.get_description();
  }
  /// Said once, not with every verb.
  bool common(const CLI::Option& option) const { return uses_.at(identity(option)) > 3; }

  void section(std::string_view name) { out_ += ".SH " + std::string(name) + "\n"; }
  void item(const std::string& head, std::string_view body) {
    out_ += ".TP\n" + head + "\n" + std::string(body) + "\n";
  }

  /// "-o, --output FILE", the value in italics.
  static std::string head(const CLI::Option& option) {
    std::string names;
    const auto add = [&](const std::string& name) {
      names += (names.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
    };
    if (option.get_positional()) return "\\fI" + roff(option.get_name(true)) + "\\fR";
    for (const std::string& name : option.get_snames()) add("-" + name);
    for (const std::string& name : option.get_lnames()) add("--" + name);
    const std::string type = option.get_type_name();
    if (option.get_items_expected_max() > 0)
      names += " \\fI" + roff(type.substr(0, type.find(':'))) + "\\fR";
    return names;
  }
  static std::string body(const CLI::Option& option) {
    std::string text = roff(option.get_description());
    const std::string type = option.get_type_name();
    const std::size_t open = type.find('{');
    if (open != std::string::npos) {
      const std::string set = type.substr(open + 1, type.rfind('}') - open - 1);
      text += ". One of: " + roff(CLI::detail::join(CLI::detail::split(set, ','), ", "));
    }
    if (!option.get_default_str().empty()) text += ". Default: " + roff(option.get_default_str());
    return text + ".";
  }

  void add_verb(const CLI::App& verb) {
    out_ += ".SS " + roff(verb.get_name()) + "\n" + roff(verb.get_description()) + ".\n";
    for (const CLI::Option* option : verb.get_options())
      if (!common(*option)) item(head(*option), body(*option));
    const std::string examples = verb.get_footer();
    out_ += ".PP\n.EX\n" + roff(examples.substr(examples.find('\n') + 1)) + "\n.EE\n";
  }
  void add_common_options() {
    std::map<std::string, bool> told;
    for (const CLI::App* verb : verbs())
      for (const CLI::Option* option : verb->get_options())
        if (common(*option) && !std::exchange(told[identity(*option)], true))
          item(head(*option), body(*option));
  }

  const CLI::App& app_;
  std::map<std::string, int> uses_;  ///< verbs by option
  std::string out_;
};

Action declare(CLI::App& app, Options& options) {
  return [&app, &options] {
    io::write_file(options.output, ManualPage(*app.get_parent()).text());
    return int{answered};
  };
}

}  // namespace

extern const Verb man_verb;
const Verb man_verb{"man", "The manual page in roff",
                    "  tokenroof man | man -l -\n"
                    "  tokenroof man -o tokenroof.1",
                    declare, Gives::text};

}  // namespace tokenroof::cli
