// How many JSON schemas are served rightly: of each file of a folder, whether its schema is compiled and each of its
// test documents is told apart.
//
//   json_schemas FOLDER [--why]
//
// A file is as in the MaskBench of JSONSchemaBench (https://github.com/guidance-ai/jsonschemabench, maskbench/data):
// {"schema", "tests": [{"valid", "data"}]}. Documents are written as Python's json.dumps does, but for the space before
// a colon or comma, which neither writes. A schema is right if every valid document is accepted and every other one
// refused, as MaskBench counts. Files are grouped by what stands in their names before the number.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "text/json_grammar.h"

namespace {

using namespace ridge;

double now_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

struct Score {
  int files = 0, compiled = 0, right = 0;
  int valid = 0, valid_accepted = 0, others = 0, others_refused = 0;
};

// Bytes until the first that is refused; npos: the document is accepted.
size_t refused_at(const text::JsonGrammar& grammar, const std::string& document) {
  text::JsonState state(grammar);
  for (size_t i = 0; i < document.size(); ++i)
    if (!state.accept(std::string_view(document).substr(i, 1))) return i;
  return state.may_end() ? std::string::npos : document.size();
}

class Folder {
 public:
  explicit Folder(bool why) : why_(why) {}

  void add(const std::filesystem::path& path) {
    const std::string name = path.stem().string();
    const auto text = read_file(path);
    const auto file = text ? parse_json(*text, name) : Result<Json>(text.error());
    if (!file || !file->contains("schema")) {
      std::printf("%s: not read\n", name.c_str());
      return;
    }
    Score& score = scores_[name.substr(0, name.find_first_of("0123456789-"))];
    ++score.files;
    const double begin = now_us();
    const auto grammar = text::JsonGrammar::of((*file)["schema"]);
    compile_us_.push_back(now_us() - begin);
    constexpr double kSlow = 20'000;
    if (why_ && compile_us_.back() > kSlow) std::printf("%s: compiled in %.0f us\n", name.c_str(), compile_us_.back());
    if (!grammar) {
      if (why_) std::printf("%s: %s\n", name.c_str(), grammar.error().message.c_str());
      return;
    }
    ++score.compiled;
    bool right = true;
    int number = 0;
    for (const Json& test : file->value("tests", Json::array())) {
      const std::string document = dump_json(test["data"]);
      const size_t refused = refused_at(*grammar, document);
      const bool valid = test["valid"] == true, accepted = refused == std::string::npos;
      ++(valid ? score.valid : score.others);
      (valid ? score.valid_accepted : score.others_refused) += valid == accepted ? 1 : 0;
      if (valid != accepted && why_)
        std::printf("%s: test %d is %s: %s\n", name.c_str(), number, valid ? "refused after" : "accepted",
                    valid ? document.substr(0, refused).substr(refused - std::min<size_t>(refused, 80)).c_str() : "");
      right = right && valid == accepted;
      ++number;
    }
    score.right += right ? 1 : 0;
  }

  void print() {
    Score all;
    std::printf("%-24s %7s %9s %7s %6s %16s %16s\n", "files", "schemas", "compiled", "right", "", "valid accepted",
                "others refused");
    for (const auto& [name, score] : scores_) {
      print(name, score);
      all.files += score.files, all.compiled += score.compiled, all.right += score.right;
      all.valid += score.valid, all.valid_accepted += score.valid_accepted;
      all.others += score.others, all.others_refused += score.others_refused;
    }
    print("all", all);
    std::sort(compile_us_.begin(), compile_us_.end());
    if (!compile_us_.empty())
      std::printf("compile, CPU time: median %.0f us, p99 %.0f us, most %.0f us\n", compile_us_[compile_us_.size() / 2],
                  compile_us_[compile_us_.size() * 99 / 100], compile_us_.back());
  }

 private:
  static void print(const std::string& name, const Score& score) {
    std::printf("%-24s %7d %9d %7d %5.1f%% %8d/%-7d %8d/%-7d\n", name.c_str(), score.files, score.compiled, score.right,
                100.0 * score.right / std::max(score.files, 1), score.valid_accepted, score.valid, score.others_refused,
                score.others);
  }

  bool why_;
  std::map<std::string, Score> scores_;
  std::vector<double> compile_us_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: json_schemas FOLDER [--why]\n");
    return 2;
  }
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(arguments[1]))
    if (file.path().extension() == ".json") paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  Folder folder(count > 2 && std::string_view(arguments[2]) == "--why");
  for (const auto& path : paths) folder.add(path);
  folder.print();
  return 0;
}
