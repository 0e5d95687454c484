/** Teaches survey-core, given as the module, the question type "extremal"; once is enough. */
export function register(surveyCore: object): void;
