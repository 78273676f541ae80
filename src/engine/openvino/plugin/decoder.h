// A Decoder on OpenVINO's CPU device.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "engine/decoder.h"

namespace ridge::engine::openvino::plugin {

// `library`: path of OpenVINO's, for info().
Result<std::unique_ptr<Decoder>> open_decoder(const DecoderPlan& plan, const std::string& library);

}  // namespace ridge::engine::openvino::plugin
