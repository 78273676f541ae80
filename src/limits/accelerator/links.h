// How fast bytes go between the host and a device, and what it costs to start something there. Private to limits/accelerator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "limits/accelerator/question.h"

namespace ridge::limits::accelerator {

struct LinkQuestion {
  gpu::Way way = gpu::Way::kToDevice;
  gpu::HostMemory memory = gpu::HostMemory::kPageable;
  int64_t bytes = 0;  // of one copy, each way
  Question question;
};
int64_t link_bytes(const gpu::DeviceFacts& facts);
std::vector<LinkQuestion> link_questions(const gpu::Device& device);

struct StartQuestion {
  std::string what, meaning;
  Question question;
};
std::vector<StartQuestion> start_questions(const gpu::Device& device);

}  // namespace ridge::limits::accelerator
