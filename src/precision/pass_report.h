// What a pass over a model file did.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridge::precision {

struct PassReport {
  std::string file;                // that was written
  int changed_nodes = 0;           // compute in the new precision
  int kept_nodes = 0;              // could have, but were kept as they are: asked for, or for a reason given in `notes`
  std::vector<std::string> notes;  // whole sentences, for people
  int64_t bytes = 0;               // [bytes] of the file and of the data file beside it, if there is one
};

}  // namespace ridge::precision
