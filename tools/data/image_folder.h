// Folders of JPEG and PNG files, one a class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/data/labelled_images.h"
#include "tools/data/source_log.h"

namespace coterie {

struct ImageFolderOptions {
  uint32_t height = 0;  // of every image, resized to it; 0: they must all have the size of the first
  uint32_t width = 0;
  uint32_t channels = 3;                  // 3, or 1: grey, the luma of ITU-R BT.601
  std::vector<std::string> classes = {};  // the classes there are, in order; empty: the folders decide
};

// Every folder in `directory` is a class, numbered from 0 in the order of their names; its images are the files whose
// names end in .jpg, .jpeg or .png, whatever the case, in the order of their names. Other files are passed over, and so
// are folders and files whose names begin with a dot. An image that does not decode is skipped; a note counts them and
// names the first. Where `classes` are given, a folder of another name is an error, and a class may lack its folder.
// Resizing does not keep the aspect (bilinear_resize.h). Errors name the file: not_found (no folder, or one without an
// image), malformed (no image of a folder decodes, another size, a folder that is no class), too_large (more than 4 GiB
// of pixels). The watchers' `stages` hears of DataStage::read and parse, `sources` of each image.
Result<LabelledImages> load_image_folder(const std::string& directory, const ImageFolderOptions& options,
                                         const LoadWatchers& watchers = {});

// A folder of such a directory, and the images that it would be read as.
struct ImageClass {
  std::string name;
  std::vector<std::string> files;  // their names
};
// In the order in which they are read. Errors: what the system says.
Result<std::vector<ImageClass>> list_image_folder(const std::string& directory);

}  // namespace coterie
