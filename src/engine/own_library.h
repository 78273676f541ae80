// Libraries of ridge's own that are opened at run time: OpenVINO's plugin and the engine of tests. C++ values cross to
// them, so both sides must come from one build. No exception crosses. What they give may live until the process ends;
// they are never unloaded.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/dynlib.h"
#include "engine/decoder.h"
#include "engine/engine.h"
#include "plan/plan.h"

namespace ridge::engine {

// Must be equal on both sides: release, compiler, and the layout of the exchanged types.
inline std::string build_id() {
  return fmt::format("ridge {}, interface 6, compiler {}, layout {}.{}.{}.{}.{}.{}.{}.{}.{}", RIDGE_VERSION,
                     __VERSION__, sizeof(plan::Plan), sizeof(Info), sizeof(Signature), sizeof(NodeTime), sizeof(Output),
                     sizeof(DecoderPlan), sizeof(DecoderInfo), sizeof(StepSequence), sizeof(Logits));
}

// Where they lie: beside the program, above it (its benchmarks), or in an installation's location.
inline std::vector<std::string> own_library_folders() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  return {program.string(), program.parent_path().string(), (program.parent_path() / "lib" / "ridge").string()};
}

// The table that the library's function `entry` gives, whose first member is `built`, its build_id(). kUnsupported: of
// another build.
template <typename Table>
Result<const Table*> open_own_library(const std::string& path, const char* entry) {
  RIDGE_ASSIGN(DynamicLibrary file, DynamicLibrary::open(path));
  RIDGE_ASSIGN(auto* give, file.symbol<const Table*()>(entry));
  const Table* table = give();
  if (table->built != build_id())
    return Error{Code::kUnsupported, path + " belongs to another build (" + table->built + ", this is " + build_id() +
                                         "); put that of this build in its place"};
  file.leak();
  return table;
}

}  // namespace ridge::engine
