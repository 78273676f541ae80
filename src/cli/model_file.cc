#include "cli/model_file.h"

#include <filesystem>
#include <system_error>

#include "cli/terminal.h"
#include "limits/limits_file.h"
#include "zoo/zoo.h"

namespace ridge::cli {
namespace {

namespace fs = std::filesystem;

// One folder per release, as another one may write another file.
Result<fs::path> reference_file(const std::string& name) {
  const std::string kept = limits::default_cache_file();
  if (kept.empty())
    return Error{Code::kUnavailable, name +
                                         " is a reference model, and there is no folder to keep it in: neither "
                                         "XDG_CACHE_HOME nor HOME is set. ridge make " +
                                         name + " -o FILE writes it anywhere"};
  return fs::path(kept).parent_path() / "models" / RIDGE_VERSION / (name + ".onnx");
}

}  // namespace

Result<std::string> model_file(std::string_view verb, const std::string& given) {
  std::error_code error;
  if (given.find_first_of("/.") != std::string::npos || given.empty() || fs::exists(given, error)) return given;
  Result<zoo::ZooDescription> known = zoo::describe(given, {});
  if (!known) return wrap(known.error(), "there is no file '" + given + "'");
  RIDGE_ASSIGN(const fs::path path, reference_file(given));
  if (!fs::exists(path, error)) {
    RIDGE_TRY(zoo::make(given, {}, path.string()));
    say("ridge " + std::string(verb) + ": " + given + " is a reference model with random weights; made " +
        path.string());
  }
  return path.string();
}

}  // namespace ridge::cli
