// How fast bytes go between the host and a device, and what it costs to start something there. Private to limits/accelerator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limits/accelerator/accelerator.h"
#include "limits/accelerator/question.h"

namespace ridge::limits::accelerator {

struct LinkQuestion {
  gpu::Way way = gpu::Way::kToDevice;
  gpu::HostMemory memory = gpu::HostMemory::kPageable;
  int64_t bytes = 0;  // of one copy, each way
  Question question;
};
int64_t link_bytes(const Facts& facts);
std::vector<LinkQuestion> link_questions(Accelerator& accelerator);

struct StartQuestion {
  std::string what, meaning;
  Question question;
};
std::vector<StartQuestion> start_questions(Accelerator& accelerator);

}  // namespace ridge::limits::accelerator
