/* SPDX-License-Identifier: Apache-2.0 */
/* What nghttp2 calls for a session with an origin. */
#ifndef DIAL_H2_FRAMES_H
#define DIAL_H2_FRAMES_H

#include "h2_origin.h"

/* NULL: no memory. */
must_check nghttp2_session_callbacks *h2_origin_callbacks(void);

#endif
