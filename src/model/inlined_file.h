// A model file with the bodies of its own functions in place of their calls, for engines that know no such functions.
#pragma once

#include <optional>
#include <string>

#include "base/temporary_folder.h"

namespace ridge::model {

struct InlinedFile {
  TemporaryFolder folder;  // also has links to the files with external data
  std::string path;
};

// nullopt: the model has no functions of its own. Errors: those of reading it; functions that expand to too much.
Result<std::optional<InlinedFile>> inlined_file(const std::string& path);

}  // namespace ridge::model
