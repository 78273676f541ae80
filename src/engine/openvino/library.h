// OpenVINO's shared library and ridge's plugin for it, found and opened once per process.
//
// The plugin libridge_openvino.so.N is linked against libopenvino.so.N (2641 is 2026.4.1) and lies beside the program
// or in ../lib/ridge. It has no path to OpenVINO: that library is searched as in search.h and opened first, by its
// path. Thread-safe. Both stay open until the process ends.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/decoder.h"
#include "engine/engine.h"
#include "engine/openvino/plugin_interface.h"
#include "model/reader.h"

namespace ridge::engine::openvino {

struct Library {
  std::string path;     // of libopenvino
  std::string version;  // "2026.4.1"
  const Plugin* plugin = nullptr;
};

// The error lists every location and why it failed.
Result<const Library*> load(const std::string& wanted);

Result<Info> find_library(const plan::Plan& plan);
Result<std::unique_ptr<Session>> open_session(const plan::Plan& plan);
Result<std::unique_ptr<Decoder>> open_decoder(const DecoderPlan& plan);

// IR, as OpenVINO describes it.
Result<model::UnboundModel> read_model(const std::string& path, const std::string& wanted);

// "2641" → "2026.4.1": OpenVINO numbers its library by the year's last two digits, release and patch.
std::string release_of(const std::string& suffix);

}  // namespace ridge::engine::openvino
