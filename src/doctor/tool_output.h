// Sets other tools' measurements on this machine beside the limit of their link: fio, iperf3, perftest (ib_write_bw and
// its siblings), nccl-tests, nvbandwidth. Their output is read as users have it; a row per tool. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "doctor/areas.h"

namespace ridge::doctor {

// The area to which the output belongs: "storage". kInvalid: of no tool that is known; the error lists them with the
// command whose output is read.
Result<std::string_view> area_of_output(std::string_view text);

// Judges the facts' outputs (entry::kOutputs) that belong to this area; without any, says what to run.
Findings judge_outputs(const Facts& facts, std::string_view area);

}  // namespace ridge::doctor
