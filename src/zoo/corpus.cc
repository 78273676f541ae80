#include "zoo/corpus.h"

#include "explain/data.h"

namespace ridge::zoo {
namespace {

constexpr std::string_view kExplained[] = {"advice",  "claims",  "distributed", "errors",   "hardware",
                                           "metrics", "options", "serving",     "switches", "terms"};
constexpr std::string_view kDocuments[] = {"architecture", "contracts", "dependencies", "gpu",
                                           "how-to-add",   "install",   "methods",      "terms"};

}  // namespace

std::vector<std::string_view> corpus() {
  std::vector<std::string_view> texts;
  for (const std::string_view name : kExplained) {
    texts.push_back(explain::english(name));
    texts.push_back(explain::chinese(name));
  }
  for (const std::string_view name : kDocuments) texts.push_back(document(name));
  return texts;
}

}  // namespace ridge::zoo
