// The program: finds the verb and hands it the rest of the command line.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "cli/document_schemas.h"
#include "cli/page_options.h"
#include "cli/program.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "predict/engine_process.h"
#include "zoo/zoo.h"

namespace ridge::cli {
namespace {

struct Row {
  std::string_view name;
  std::string_view summary;
  Verb run;
  std::vector<std::string_view> first_words = {};  // that choose another set of options
  bool logs = false;                               // runs on, so that each of its messages needs its time
};

// Rows stand in the order in which a user meets the verbs.
const std::vector<Row> kVerbs = {
    {"doctor", "is this machine ready, and what holds it back?", doctor},
    {"make", "write a reference model with random weights", make},
    {"describe", "what a model file is, and what can be done with it; ridge MODEL is the same", describe},
    {"gpus", "the catalogue of GPUs: peaks with their sources, comparison, recommendation for a model", gpus},
    {"plan", "the cost of a model and the least time this machine needs for it", plan},
    {"size", "the machines, GPUs and money that a load, a language model or training needs", size},
    {"bench", "measure a model, or the device itself, against the limit of this machine", bench, {"device"}},
    {"tune", "find the fastest way to run a model here, write a repository ready to serve", tune},
    {"serve",
     "serve a repository over the Open Inference Protocol (KServe v2), with Triton's extensions",
     serve,
     {},
     true},
    {"power",
     "power of GPUs and CPU; how limits and clocks are set, the most efficient limit",
     power,
     {"set", "sweep"}},
    {"lab", "test the guides' performance claims on this device; occupancy of a kernel", lab},
    {"show", "show a kept result again, as its verb did", show},
    {"compare", "compare two kept results: what changed by more than chance", compare},
    {"history", "what was measured of a model on this machine", history},
    {"explain", "explain a term, an option, an error code or a pasted message", explain},
    {"completion", "completion of verbs and options for bash, zsh or fish", completion},
};

void print_overview() {
  print_help("ridge");
  print("\nVERBS");
  std::vector<std::vector<std::string>> rows;
  for (const Row& verb : kVerbs) rows.push_back({"  " + std::string(verb.name), std::string(verb.summary)});
  print(table({}, rows, "ll"));
  print("ridge VERB --help explains a verb. Exit status: 0 done, 1 the answer is no, 2 wrong usage, 3 failed.");
}

// Verbs that other tools have.
constexpr std::pair<std::string_view, std::string_view> kInstead[] = {
    {"run", "ridge bench MODEL measures a model, ridge serve MODEL answers requests"},
    {"chat", "the page of ridge serve FOLDER has a chat"},
    {"quantize", "ridge tune MODEL --precision int8 -o models writes the quantised model, if its accuracy holds"},
    {"optimize", "ridge tune MODEL -o models"},
    {"convert", "ridge FILE says how a file of another format is exported"},
    {"export", "ridge FILE says how a file of another format is exported"},
    {"top", "the page of ridge serve and its /metrics show a server at work, ridge power the devices"}};

int unknown_verb(const std::string& given) {
  if (given.starts_with('-')) return say("ridge: options stand behind a verb: ridge VERB " + given + " ..."), kUsage;
  for (const auto& [verb, instead] : kInstead)
    if (verb == given) return say(fmt::format("ridge: there is no verb '{}': {}", verb, instead)), kUsage;
  std::vector<std::string> names;
  for (const Row& verb : kVerbs) names.emplace_back(verb.name);
  say("ridge: there is no verb '" + given + "'" + did_you_mean(given, names));
  say("ridge --help lists the verbs.");
  return kUsage;
}

constexpr std::string_view kListWordsVerb = "list-words";

// Lists the words that may follow `words` on a command line, one per line, for the scripts of `ridge completion`. A
// verb's options are read from its CLI11 definition, so a script cannot go stale.
int list_words(std::span<const std::string> words) {
  if (words.empty()) {
    for (const Row& verb : kVerbs) print_verbatim(verb.name);
    return kDone;
  }
  auto verb = std::find_if(kVerbs.begin(), kVerbs.end(), [&](const Row& row) { return row.name == words.front(); });
  if (verb == kVerbs.end()) return kNo;
  if (words.size() == 1)
    for (std::string_view word : verb->first_words) print_verbatim(word);
  std::vector<std::string> arguments(words.begin() + 1,
                                     words.begin() + static_cast<long>(std::min<size_t>(words.size(), 2)));
  std::erase_if(arguments, [](const std::string& word) { return word.starts_with('-'); });
  arguments.emplace_back(kListWords);
  return verb->run(arguments);
}

// A path or a URL, and no mistyped verb.
bool is_path(const std::string& word) {
  std::error_code error;
  return !word.starts_with('-') &&
         (word.find_first_of("./") != std::string::npos || std::filesystem::exists(word, error));
}

bool keeps_log(std::span<const std::string> arguments) {
  return std::ranges::any_of(
      kVerbs, [&](const Row& verb) { return verb.logs && !arguments.empty() && verb.name == arguments.front(); });
}

int run(std::span<const std::string> arguments) {
  PageOptions::columns = list_columns;
  if (!keeps_log(arguments)) show_log_as_text();
  set_log_level_from_environment();
  if (arguments.empty()) {
    say("usage: ridge VERB [OPTION...]; ridge --help lists the verbs.");
    return kUsage;
  }
  const std::string& first = arguments.front();
  if (first == "help" && arguments.size() > 1) {
    std::vector<std::string> words(arguments.begin() + 1, arguments.end());
    words.emplace_back("--help");
    return run(words);
  }
  if (first == "--help" || first == "-h" || first == "help") {
    print_overview();
    return kDone;
  }
  if (first == "--version" || first == "version") {
    print("ridge " RIDGE_VERSION);
    return kDone;
  }
  if (first == kListWordsVerb) return list_words(arguments.subspan(1));
  if (first == predict::kEngineVerb) return predict::engine_process(arguments.subspan(1));
  for (const Row& verb : kVerbs)
    if (verb.name == first) return verb.run(arguments.subspan(1));
  if (is_path(first) || zoo::describe(first, {})) return describe(arguments);
  return unknown_verb(first);
}

}  // namespace
}  // namespace ridge::cli

int main(int argc, char** argv) { return ridge::cli::run_program(argc, argv, ridge::cli::run); }
