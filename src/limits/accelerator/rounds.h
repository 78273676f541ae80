// Asks all questions in turns, round after round, until nothing grows any more or the time is up. Private to limits/accelerator.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "limits/accelerator/measure.h"
#include "limits/accelerator/question.h"

namespace ridge::limits::accelerator {

using NamedQuestion = std::pair<std::string, Question*>;  // the name is what progress says

void ask_in_rounds(std::vector<NamedQuestion> questions, const Options& options);

}  // namespace ridge::limits::accelerator
