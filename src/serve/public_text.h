// Texts for clients: they name files by their place in the repository, not by where this machine keeps it. Pure, but
// for reading links.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ridge::serve {

// A folder, and what stands for it and its slash in a text.
using FolderName = std::pair<std::string, std::string>;

// `text` without the folders: as they are given, and as they are called without links.
std::string without_folders(std::string text, const std::vector<FolderName>& folders);

}  // namespace ridge::serve
