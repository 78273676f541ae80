// Compiled models shared by several sessions of the process, keyed by their sources. One lives as long as a session uses it.
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "engine/openvino/plugin/executable.h"

namespace ridge::engine::openvino::plugin {

// The existing one for `key`, else created by `make`.
Result<std::shared_ptr<Executable>> shared_executable(const std::string& key,
                                                      const std::function<Result<std::shared_ptr<Executable>>()>& make);

}  // namespace ridge::engine::openvino::plugin
