// Metadata of the server and its models, whatever the protocol. Pure.
#pragma once

#include <string>
#include <vector>

namespace ridge::front {

constexpr const char* kServerName = "ridge";

// `shared_memory`: its extensions are open to the client. GPUs' memory is named without GPUs too: its endpoints answer
// then, and say why there is none. `traces`: there is a collector for them.
std::vector<std::string> extensions(bool shared_memory, bool traces);

}  // namespace ridge::front
