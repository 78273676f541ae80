// Asks all questions in turns, round after round, until nothing grows any more or the time is up. Private to hw/accelerator.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hw/accelerator/measure.h"
#include "hw/accelerator/question.h"

namespace ridge::hw::accelerator {

using NamedQuestion = std::pair<std::string, Question*>;  // the name is what progress says

void ask_in_rounds(std::vector<NamedQuestion> questions, const Options& options);

}  // namespace ridge::hw::accelerator
