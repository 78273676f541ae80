#include "engine/fake_engine.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <system_error>

namespace ridge::engine {
namespace {

constexpr const char* kFile = "libridge_fake.so";

Result<const FakeEngine*> find() {
  std::error_code error;
  for (const std::filesystem::path folder : own_library_folders())
    if (exists(folder / kFile, error)) return open_own_library<FakeEngine>((folder / kFile).string(), kFakeEngineEntry);
  return Error{Code::kNotFound,
               fmt::format("the fake engine is for tests of ridge: no {} in {}; build the target ridge_fake", kFile,
                           fmt::join(own_library_folders(), ", "))};
}

}  // namespace

Result<const FakeEngine*> fake_engine() {
  static const Result<const FakeEngine*> found = find();
  return found;
}

}  // namespace ridge::engine
