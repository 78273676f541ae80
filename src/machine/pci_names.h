// Names of PCI devices by id, from the system's pci.ids (PCI ID Project).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridge::machine {

// Lines "1002:74a1 NAME" for those of `ids` that `list`, the text of a pci.ids, contains. Pure.
std::string pci_names(std::string_view list, const std::vector<std::string>& ids);

// The same from the system's list below `root`; error: it has none.
Result<std::string> find_pci_names(const std::string& root, const std::vector<std::string>& ids);

}  // namespace ridge::machine
