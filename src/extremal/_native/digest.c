/* Which sources the library was made of, so that a stale one is noticed. */

#include "native.h"

EXPORT const char *extremal_source_digest(void) { return SOURCE_DIGEST; }
