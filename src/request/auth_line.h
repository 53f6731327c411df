/*
 * auth_line: which password check is the next one to run. Two run at a time, so that threads are
 * left for files, and of one client one. Clients take turns. A check that its guesses' delay keeps
 * from running waits beside the line, one for each user that a client guesses at; those of
 * credentials that were right lately pass by the line. auth_queue.c owns it; it never runs a check
 * and never sees a password.
 */
#ifndef H2D_REQUEST_AUTH_LINE_H
#define H2D_REQUEST_AUTH_LINE_H

#include "base/list.h"
#include "base/states.h"
#include "request/auth_client.h"

enum {
	AUTH_RUNNING_MAX = 2, /* of the worker's four threads */
	AUTH_CLIENT_RUNNING_MAX = 1,
	AUTH_LINE_MAX = 64,
	AUTH_CLIENT_LINE_MAX = 8,
	AUTH_WAITING_MAX = 256, /* for their delay, of all clients */
	AUTH_KNOWN_SETS = 256,
	AUTH_KNOWN_WAYS = 4,
	AUTH_KNOWN_MS = 3600000,
};

enum auth_turn_state {
#define AUTH_TURN_STATE(name, next, help) AUTH_TURN_##name,
#include "request/auth_turn_state.def"
	AUTH_TURN_STATES
};
extern const struct states auth_turn_states;

/* A check's place; a member of its owner, zeroed before auth_line_join(). */
struct auth_turn {
	struct list node;
	enum auth_turn_state state;
	struct account *account; /* open while it is in use; NULL: of nobody */
	struct auth_client *client;
	struct auth_guess *guess;
	uint32_t user;
	const uint8_t *key; /* the MAC of its credentials, its owner's */
};

/*
 * Credentials that were right lately. Their checks have a lane of their own, so that guesses of
 * others never keep a user out who was let in within the last hour. The table says which lane,
 * never who is let in, so it holds three bytes of a MAC of the credentials: too little to test a
 * password against, should somebody read the worker's memory. In sets of four, chosen by the first
 * byte.
 */
struct auth_known {
	struct {
		uint16_t tag;
		uint64_t until_ms; /* 0: free */
	} v[AUTH_KNOWN_SETS][AUTH_KNOWN_WAYS];
};

struct auth_line {
	struct list turns; /* struct auth_turn that wait, in whatever state, as they came */
	unsigned nline, nwaiting, nrunning;
	uint64_t last_turn;
	struct auth_client nobody; /* for those without an account */
	struct auth_known known;
	/* Turn had to leave, for another or for its delay, which ends in ms (0: it had none). */
	void (*dropped)(struct auth_line *line, struct auth_turn *turn, uint64_t ms);
};

void auth_line_init(struct auth_line *line,
	void (*dropped)(struct auth_line *line, struct auth_turn *turn, uint64_t ms));

/*
 * Turn joins. False: there is no room for it, and *ms says how long its delay lasts, 0 if it has
 * none. account (may be NULL), user (a hash of the name) and key are those of its credentials. When
 * the line is full, the check whose user was guessed wrong most leaves for one who failed less; if
 * none failed, one of the client that has most in it.
 */
bool auth_line_join(struct auth_line *line, struct auth_turn *turn, struct account *account,
	uint32_t user, const uint8_t *key, uint64_t *ms);

/* Turn is not wanted any more, before it ran. */
void auth_line_leave(struct auth_line *line, struct auth_turn *turn);

/* The check whose turn it is, which runs from now on. NULL: none; *at is the clock_ms() from which
 * there is one, UINT64_MAX: not before one that runs is over. */
struct auth_turn *auth_line_next(struct auth_line *line, uint64_t *at);

/* A check that ran is over; UNKNOWN: it could not tell. */
enum auth_turn_end { AUTH_TURN_RIGHT, AUTH_TURN_WRONG, AUTH_TURN_UNKNOWN };
void auth_line_end(struct auth_line *line, struct auth_turn *turn, enum auth_turn_end end);

#endif
