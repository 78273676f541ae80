#include "engine/own_format.h"

#include <filesystem>

namespace ridge::engine {
namespace {

std::filesystem::path extension_of(std::string_view file) { return std::filesystem::path(file).extension(); }

}  // namespace

const Engine* owner_of(const std::string& file) {
  const std::filesystem::path extension = extension_of(file);
  if (extension.empty() || extension == extension_of(known().front().default_file)) return nullptr;
  for (const Engine& row : known())
    if (extension_of(row.default_file) == extension) return &row;
  return nullptr;
}

Result<std::string> engine_for(const std::string& file, const std::string& requested) {
  if (!requested.empty()) RIDGE_TRY(check_name(requested));
  const Engine* owner = owner_of(file);
  if (owner != nullptr && !requested.empty() && requested != owner->name)
    return Error{Code::kInvalid,
                 "--engine " + requested + ": " + file + " is of " + std::string(owner->label) +
                     "'s own format, which no other engine opens; leave --engine out, or give the .onnx "
                     "file that it was made from"};
  if (owner != nullptr) return std::string(owner->name);
  return requested.empty() ? std::string(plan::kUsualEngine) : requested;
}

}  // namespace ridge::engine
