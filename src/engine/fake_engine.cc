#include "engine/fake_engine.h"

#include <filesystem>

#include "base/dynlib.h"

namespace ridge::engine {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "libridge_fake.so";

Result<const FakeEngine*> open(const std::string& path) {
  RIDGE_ASSIGN(DynamicLibrary file, DynamicLibrary::open(path));
  RIDGE_ASSIGN(auto* entry, file.symbol<FakeEngineEntry>(kFakeEngineEntry));
  const FakeEngine* engine = entry();
  if (std::string(engine->built) != openvino::build_id())
    return Error{Code::kUnsupported, path + " belongs to another build (" + engine->built + ")"};
  file.leak();
  return engine;
}

// Benchmarks lie in a folder below it.
Result<const FakeEngine*> find() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& each : {folder, folder.parent_path()})
    if (fs::exists(each / kFile, error)) return open((each / kFile).string());
  return Error{Code::kNotFound, std::string("the fake engine is for tests of ridge: no ") + kFile + " in " +
                                    folder.string() + "; build the target ridge_fake"};
}

}  // namespace

Result<const FakeEngine*> fake_engine() {
  static const Result<const FakeEngine*> found = find();
  return found;
}

}  // namespace ridge::engine
