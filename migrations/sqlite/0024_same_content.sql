-- Whether the reply that a request was answered with has the content that the request asked for. A
-- message keeps its first reply, so a later request may be answered with another one. The older
-- rows are of requests that were carried out.
ALTER TABLE send_requests ADD COLUMN same_content INTEGER NOT NULL DEFAULT 1;
