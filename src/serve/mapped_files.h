// Engines map a model's external data into memory and read it there while they serve. A file that is written in place
// would then change the answers, and one that is cut off would end the process by SIGBUS. So the memory becomes the
// server's own after a load, whatever library has mapped it.
//
// Thread-safe.
#pragma once

#include <string>

#include "base/result.h"

namespace ridge::serve {

// Replaces the process's mappings of the files below `folder`, or of that one file, libraries aside, by mappings of
// memory with the same content, at the same addresses; equal ones share it. Nothing is done where the kernel does not
// show the mappings. kExhausted: no memory for it.
Status keep_mapped_files(const std::string& folder);

}  // namespace ridge::serve
