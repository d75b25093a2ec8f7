// OidcSettings of a configuration file: the block `admin.oidc`.
#pragma once

#include "fl_server/json/json_reader.h"
#include "fl_server/oidc/oidc_settings.h"

namespace coterie {

// Everything wrong with form or values goes to the reader's problems.
OidcSettings read_oidc(JsonReader reader);

}  // namespace coterie
